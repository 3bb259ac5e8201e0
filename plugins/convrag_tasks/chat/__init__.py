"""`task=chat`: a conversation at the terminal.

* `task`: the option, how a chat begins, and the command that goes on with it.
* `loop`: reads lines, and answers questions or carries out commands, those that look at a
  conversation too.
* `conversation`: the conversation at hand: asking, asking again, going on with another.
* `line_input`: reads lines from a terminal, with editing, completion and history, or from a pipe.
* `screen`: prints lines, queries, answers and sources.
* `answer_display`: shows an answer while it is generated.
"""
