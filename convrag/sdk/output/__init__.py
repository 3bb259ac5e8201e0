"""Output for people: progress, the console, plots, printable text, and spans for trackers.

* `progress`: the progress of steps, on the terminal and in the log.
* `progress_display`: the rows of progress on a terminal.
* `progress_columns`: what a row shows: a bar, the count of parts, the time that is left.
* `step_progress`: the progress of a step in words.
* `console`: the console on which everything is printed.
* `printable`: text, counts, durations and tables for terminals, logs and Markdown.
* `plots`: the style of plots.
* `turn_spans`: a turn as spans.
* `stage_spans`: spans for the stages of a turn.
* `call_spans`: spans for the calls of language models in a stage.
* `spans`: spans as plain data.
* `library_logs`: logs and progress bars of libraries.
"""
