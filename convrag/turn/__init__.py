"""One turn of a conversation, from the question to the answer.

* `pipeline`: answers the questions of conversations.
* `turn`: takes one question through the stages.
* `session`: the state of a conversation, and the conversations of a pipeline.
* `conversation_file`: the file of a conversation, to which each turn adds a line.
* `wiring`: builds the stages of a configuration.
* `stage_pool`: the stages of a process; equal ones are one object.
* `results`: what the stages of a turn return, checked.
* `defects`: defects of plugins' stages in words, with plugin, file and line.
* `logs`: the format of log records on the terminal, and warnings without repetition.
"""
