"""One experiment.

* `runner`: a configuration is run over its data set.
* `workers`: conversations side by side.
* `observers`: the hooks of a run are called.
* `writers`: the files of a run.
* `records`: a turn's record as a line of JSON, and back.
"""
