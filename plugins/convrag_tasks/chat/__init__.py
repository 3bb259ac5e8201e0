"""`task=chat`: a conversation at the terminal.

* `task`: the option, how a chat begins, and the command that goes on with it.
* `loop`: reads lines, and answers questions or carries out commands.
* `inspection`: the commands that look at the conversation and change nothing.
* `conversation`: the current conversation: asking, asking again, going on with another.
* `line_input`: reads lines from a terminal, with editing, completion and history, or from a pipe.
* `screen`: prints lines, queries, answers and sources.
* `answer_display`: shows an answer while it is generated.
* `markdown`: splits Markdown into finished blocks, and renders it.
* `terminal_lines`: lays something out as lines of a terminal.
"""
