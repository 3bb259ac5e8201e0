"""A grid: every combination of what is given with commas is a cell, and each experiment among them
is run once.

* `sweeper`: runs a grid, from its plan to its reports; Hydra's plugin
  (hydra_plugins.convrag_sweeper) calls it.
* `grid`: a grid as Hydra knows it, and the configurations of its cells.
* `plan`: the cells of a grid, composed and checked before anything is written.
* `cells`: the cells are enumerated, drawn and named.
* `experiments`: which cells are the same experiment, and what each can be measured by.
* `folders`: the folders of grids and cells, and the ids that name them.
* `cell`: runs one cell, and notes how it ended in its folder.
* `sweep_file`: the files of a grid's folder.
* `grid_result`: a grid read from its folder.
* `leaderboard_html`: its leaderboard as a table for notebooks.
"""
