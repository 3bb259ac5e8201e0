"""Doors to the rooms above, for tasks, trackers and reports.

* `options`: the installed plugins and their options.
* `configuration`: the configuration of a command, and of a conversation.
* `turns`: the stages of a configuration, and the turns that they answer.
* `talks`: what a talk with a language model costs.
* `runs`: runs, and the files that they leave.
* `scores`: the scores of a run, and how they are shown.
* `grids`: grids, and the files that they leave.
* `signals`: interruptions, for a task that reads a terminal.
"""
