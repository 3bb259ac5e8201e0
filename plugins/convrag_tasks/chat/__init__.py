"""`task=chat`: a conversation at the terminal.

* `task`: the option, and how a chat begins.
* `loop`: reads lines, and answers questions or carries out commands.
* `commands`: the commands, their help and their completion.
* `conversation`: the conversation at hand: asking, asking again, going on with another one.
* `background_display`: shows what goes on meanwhile.
* `hidden_typing`: what is typed meanwhile is not shown.
* `line_input`: reads lines from a terminal, with editing and history, or from a pipe.
* `question_history`: the lines that were typed, in a file that nobody else can read.
* `completion`: completes commands and their arguments.
* `screen`: prints lines, queries, answers and sources.
* `answer_display`: shows an answer while it is generated.
* `live_region`: the last lines of the terminal, which are drawn anew.
* `log_lines`: log records on the terminal while an answer is drawn there.
* `answer_markdown`: Markdown for a terminal, with nothing hidden in it.
* `terminal_lines`: lines of a terminal, of a width that can be read.
* `sources`: the numbered passages of an answer.
* `cited_sentences`: which sentences of a passage an answer cites.
* `query_explanation`: why a query was searched for, in plain words.
* `transcript`: a conversation as Markdown.
* `follow_ups`: follow-up questions that a language model suggests.
* `resume_command`: the command that goes on with a conversation.
"""
