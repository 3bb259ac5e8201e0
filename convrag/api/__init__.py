"""The interfaces of plugins: the classes that they implement and the data that they are given.

* `stages`: one abstract class for each kind of stage, with one main method.
* `stage`: the base class of all stages, LLM and Embedder, and the mark of what the store keeps.
* `groups`: the groups of stages that a configuration chooses from.
* `types`: the data that flows between the stages of a turn.
* `documents`: a document that passages are cut from, and parts of a corpus.
* `records`: turns, reports and the summary of a run; a sweep and its cells.
* `rows`: a turn's record as JSON, and back; what JSON can hold.
* `hookspecs`: the hooks of a plugin.
* `session`: the state of one conversation.
* `databases`: what is asked of a database that a plugin opens.
* `secrets`: passwords and keys: how they are known, and how messages are cleared of them.
* `errors`: the exceptions, and the file and the line of a plugin's mistake.
* `printable`: text for terminals, logs and notebooks, without control characters.
"""
