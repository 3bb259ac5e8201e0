"""Output for people: progress, the console, plots, printable text, and spans for trackers.

* `progress`: what is being done and how far it is, on the terminal and in the log.
* `console`: the console that everything is printed on, and how progress looks there.
* `printable`: text, counts, durations and tables for terminals, logs and Markdown.
* `plots`: the style of plots.
* `turn_spans`: a turn as spans: its stages and their calls of language models.
* `library_logs`: the loggers of libraries, limited in the command alone.
"""
