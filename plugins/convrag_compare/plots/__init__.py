"""The plots of a comparison, which can also be read in black and white.

Runs with the same score in every turn are one point, or one curve: `none = last_n`.

* `plot_files`: which plots are drawn, and into which files.
* `heat_map`: a measure over two factors.
* `scatter_plot`: a measure against cost and latency, a point for each run.
* `turn_curves`: a measure by the position of the turn in its conversation.
* `run_labels`: the names of runs in plots, and the frame that all plots have.
"""
