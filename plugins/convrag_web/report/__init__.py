"""report.html: a run, a grid or a comparison in one file that a browser opens from disk, without a network.

* `run_report`: the report of a run.
* `comparison_report`: the report of a grid or a comparison.
* `page`: the file: its data, modules and styles.
* `turn_blocks`: turns as packed blocks, and what is left out of a report that would become too large.
* `turn_rows`: a turn as a report keeps it, and the list of turns.
* `passage_pool`: the passages, each of which stands there once.
"""
