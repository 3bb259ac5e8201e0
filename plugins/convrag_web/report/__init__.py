"""report.html: a run, a grid or a comparison in one file that a browser opens from disk.

* `reports`: the report of a run, and the report of a grid or a comparison.
* `page`: the file.
* `bundle`: the modules of view/ as one script.
* `turn_blocks`: turns as packed blocks; what a report leaves out to stay within its limit.
* `turn_rows`: a turn as a report stores it, the list of turns, and the passages.
"""
