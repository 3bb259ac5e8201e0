"""One turn of a conversation, from the question to the answer.

* `pipeline`: answers the questions of conversations, over a data set or over passages given as
  objects.
* `turn`: takes one question through the stages.
* `observers`: calls the hooks of the observers of turns and runs.
* `conversations`: the conversations of a pipeline, in memory and in a database of a plugin; their
  configurations.
* `wiring`: builds the stages of a configuration, and imports their libraries early.
* `stage_pool`: the stages of a process, where equal ones are one object, with their fingerprints
  and descriptions.
* `defects`: checks the results of stages, and describes defects with plugin, file and line.
* `stage_guard`: turns exits of stages into failures, and checks scores, hits, vectors and labels,
  whoever calls a stage.
* `logs`: the format of log records on the terminal, and warnings without repetition.
"""
