"""One turn of a conversation, from the question to the answer.

* `pipeline`: answers the questions of conversations.
* `turn`: takes one question through the stages.
* `logged_turns`: tells a tracker of the turns of conversations.
* `session`: the state of one conversation.
* `conversations`: the conversations of a pipeline, in memory and in a database.
* `conversation_database`: reads and changes conversations in a database.
* `sqlite_transactions`: the transactions on a file of SQLite.
* `configuration`: the configuration that a conversation belongs to, and what differs from another.
* `holding`: holds a conversation for a turn.
* `passages_dataset`: passages given as objects, as a corpus.
* `wiring`: builds the stages of a configuration.
* `stage_pool`: the stages of a process; equal ones are one object.
* `early_imports`: imports libraries while there is something else to wait for.
* `results`: what the stages of a turn return, checked.
* `defects`: defects of plugins' stages in words, with plugin, file and line.
* `logs`: the format of log records on the terminal, and warnings without repetition.
"""
