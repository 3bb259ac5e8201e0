"""One run: a configuration answers the conversations of its data set, and metrics measure the turns.

* `runner`: runs a configuration and writes its results.
* `hydra_files`: what Hydra wrote into a run's folder: the configuration, overrides and choices.
* `manifest`: run.json, by which a finished run is known when the same one is asked for.
* `workers`: several conversations at a time, each in a thread.
* `truths`: what the data set says of a turn: labels, the reference answer, the relevant passages.
* `writers`: the files of a run.
* `run_result`: a finished run, read from its folder.
* `records`: the records of a run in memory, on disk and as lines of JSON.
"""
