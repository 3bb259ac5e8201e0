"""The scores of a run, from the metrics of its turns to its summary.

* `measuring`: the metrics measure the turns; reports on the run are checked and joined.
* `exclusion`: turns that their generator leaves out of every metric.
* `scoring`: scores of sets of turns: all, by domain, by turn position, by label.
* `metric_table`: the values of one metric as an array.
* `bootstrap`: confidence intervals.
* `summary`: the summary of a run as data.
* `endings`: descriptions of how the run ended: what a partial one lacks.
* `summary_page`: the summary as a Markdown page and as a table on the terminal.
"""
