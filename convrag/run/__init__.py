"""One run: a configuration answers the conversations of its data set, and metrics measure it.

* `runner`: runs a configuration over its data set, or measures turns that were answered before.
* `execution`: collects records, measures them, and writes the files.
* `workers`: several conversations at a time, each in a thread.
* `truths`: labels, reference answers and relevant passages of the turns.
* `records`: the records of a run, in memory and as lines of JSON.
* `writers`: the files with a line for each turn: rewrites, records, rankings.
* `run_folder`: the folder of a run, whose files take their places when it has finished.
* `manifest`: run.json, and the configuration, overrides and choices that Hydra wrote.
* `passage_lookup`: passages of a data set by their ids.
* `run_result`: a finished run, read from its folder.
"""
