"""One turn of a conversation, from the question to the answer.

* `pipeline`: answers the questions of conversations, over a data set or over passages given as
  objects.
* `turn`: takes one question through the stages.
* `observers`: calls the hooks of those who watch turns and runs.
* `conversations`: the conversations of a pipeline, in memory and in a database of a plugin; their
  configurations.
* `wiring`: builds the stages of a configuration, and imports their libraries early.
* `stage_pool`: the stages of a process; equal ones are one object. Their fingerprints and
  descriptions.
* `defects`: defects of plugins' stages in words, with plugin, file and line; what stages return,
  checked.
* `logs`: the format of log records on the terminal, and warnings without repetition.
"""
