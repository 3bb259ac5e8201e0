"""The scores of a run, from the metrics of its turns to its summary.

* `scoring`: scores of sets of turns (all, by domain, by turn position, by label), and confidence
  intervals.
* `measuring`: the metrics measure the turns; reports on the run are checked and joined.
* `summary`: the summary of a run as data, and how the run ended in words: what a partial one lacks.
* `summary_page`: the summary as a Markdown page and as a table on the terminal.
"""
