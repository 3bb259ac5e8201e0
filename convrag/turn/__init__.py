"""One turn.

* `pipeline`: conversations are asked and answered.
* `turn`: a question on its way through the stages.
* `session`: the state of one conversation, and where many are held.
* `wiring`: a configuration becomes stages.
* `stage_pool`: equal stages are one object in a process.
* `logs`: how log records look on the terminal.
"""
