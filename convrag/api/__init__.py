"""The interfaces of plugins: the classes that they implement and the data that they are given.

* `stages`: one abstract class for each kind of stage, with one main method.
* `models`: the kinds of stages that are models: LLM and Embedder.
* `stage`: the base class of all stages, and the mark on methods whose results the store keeps.
* `groups`: the groups of stages that a configuration chooses from.
* `types`: the data that flows between the stages of a turn.
* `documents`: a document that passages are cut from, and parts of a corpus.
* `records`: turns, usage, reports and the summary of a run.
* `record_fields`: a turn's record as plain data, and back.
* `record_rows`: the fields of such data, which are checked.
* `record_html`: a turn's record as a notebook shows it.
* `stage_html`: a rewrite and evidence as a notebook shows them.
* `html`: HTML for notebooks, in which each text is shown as it is.
* `plain_data`: what JSON can hold.
* `turn_logs`: what a tracker is told of the turns of conversations.
* `sweeps`: a sweep and its cells.
* `hookspecs`: the hooks of a plugin.
* `databases`: what is asked of a database server that a plugin opens.
* `secrets`: passwords and keys: how they are known, and how messages are cleared of them.
* `errors`: the exceptions.
* `deprecation`: old names of options and parameters, which are still understood.
* `extras`: which libraries are installed.
* `locations`: the file and the line of a plugin's mistake.
* `wrong_calls`: a call whose arguments do not fit, in words.
* `printable`: text for terminals and logs, without control characters.
"""
