"""One run: a configuration answers the conversations of its data set, and metrics measure the
turns.

* `runner`: runs a configuration and writes its results.
* `manifest`: what a run was made of: run.json, and the configuration, overrides and choices that
  Hydra wrote.
* `workers`: several conversations at a time, each in a thread; and what the data set says of their
  turns.
* `run_result`: a finished run, read from its folder.
* `records`: the records of a run in memory, and the files of a run.
"""
