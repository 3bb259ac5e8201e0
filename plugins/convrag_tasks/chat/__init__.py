"""`task=chat`: a conversation at the terminal.

* `task`: the option, how a chat begins, and the command that goes on with it.
* `loop`: reads lines, and answers questions or carries out commands.
* `commands`: what a command is.
* `inspection`: the commands that look at a conversation.
* `conversation`: the conversation at hand: asking, asking again, going on with another one.
* `background_display`: carries out a turn in the background, and shows what goes on meanwhile.
* `line_input`: reads lines from a terminal, with editing, completion and history, or from a pipe.
* `screen`: prints lines, queries, answers and sources.
* `answer_display`: shows an answer while it is generated.
* `answer_markdown`: Markdown for a terminal, with nothing hidden in it.
* `terminal_lines`: lines of a terminal, of a width that can be read.
"""
