"""The Zotero assistant's rewriter and chat: a gate chooses the follow-ups that are condensed.

* `rewriter`: `rewriter=condense`: a model condenses the follow-ups that the gate chooses.
* `gate`: whether a question depends on the history, and whether its rewrite has drifted.
* `chat`: `generator=chat`: the conversation is sent to the model as a chat.
* `chat_history`: the history of a conversation as a model's messages.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=condense` and `generator=chat`."""
    register(
        "rewriter",
        "condense",
        "convrag_condense.rewriter:CondenseRewriter",
        "Condense the follow-ups that a gate finds dependent, and reject rewrites that have "
        "drifted.",
    )
    register(
        "generator",
        "chat",
        "convrag_condense.chat:ChatGenerator",
        "Answer as a chat: the system prompt once, then plain questions, each followed by "
        "evidence.",
    )
