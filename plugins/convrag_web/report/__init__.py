"""report.html: a run, a grid or a comparison in one file that a browser opens from disk, without a
network.

* `reports`: the report of a run, and the report of a grid or a comparison.
* `page`: the file: turns as packed blocks, and what is left out of a report that would become too
  large.
* `turn_rows`: a turn as a report keeps it, the list of turns, and the passages.
"""
