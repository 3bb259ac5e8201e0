"""The scores of a run, from the metrics of its turns to its summary.

* `scoring`: scores of sets of turns: all, by domain, by turn position, by label.
* `measuring`: the metrics measure the turns.
* `reports`: the reports on a run, checked and joined.
* `bootstrap`: confidence intervals.
* `endings`: how a run ended, in words: what a partial one lacks.
* `summary`: the summary of a run as data.
* `summary_page`: the summary as a Markdown page and as a table on the terminal.
"""
