"""The interfaces of plugins: the classes that they implement and the data that they are given.

* `stages`: one abstract class for each kind of stage, with one main method.
* `stage`: the base class of all stages, LLM and Embedder, and the mark of what the store keeps.
* `groups`: the groups of stages that a configuration chooses from.
* `passages`: passages, hits of a search, what is selected of them, nuggets.
* `queries`: queries, rewrites, steps of a search.
* `filters`: filters of a search by the fields of passages.
* `filter_parser`: the language of filters.
* `conversations`: turns, questions, and what of the history a memory passes on.
* `evidence`: the evidence that a generator sees.
* `answers`: answers, and the passages that support them.
* `completions`: prompts, replies of language models, and what they cost.
* `thoughts`: separates the thoughts of a reasoning model from its text.
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
