"""A grid: every combination of what is given with commas is a cell, and each experiment among them is run once.

* `sweeper`: a grid is run, from its plan to its reports. Hydra's plugin (hydra_plugins.convrag_sweeper) calls it.
* `plan`: the cells of a grid, composed once, and checked before anything is written.
* `cells`: the cells of a grid are enumerated, drawn, and named.
* `experiments`: which cells are the same experiment, and which factor made no difference.
* `cell`: one cell is run, and how it ended is noted in its folder.
* `sweep_file`: what the processes of a grid must know of it stands in its folder.
* `folders`: the ids of sweeps and cells, which name their folders.
* `grid_result`: a grid, read from its folder, as a table, and as a notebook shows it.
"""
