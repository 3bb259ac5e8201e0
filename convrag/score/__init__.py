"""Numbers.

* `measuring`: metrics are asked.
* `scoring`: means over sets of turns.
* `bootstrap`: intervals.
* `summary`: what a run came to, as data.
* `summary_page`: the summary as a page and as a table.
"""
