"""A grid: every combination of what is given with commas is a cell, and each experiment among them
is run once.

* `sweeper`: a grid is run, from its plan to its reports. Hydra's plugin
  (hydra_plugins.convrag_sweeper) calls it.
* `plan`: the cells of a grid, composed once, checked before anything is written, and which are the
  same experiment.
* `cells`: the cells of a grid are enumerated, drawn and named, and their folders.
* `cell`: one cell is run, and how it ended is noted in its folder.
* `sweep_file`: what the processes of a grid must know of it stands in its folder; a grid read from
  there.
"""
