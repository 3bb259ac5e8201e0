"""The Zotero assistant's rewriter and chat: a gate chooses the follow-ups that are condensed.

* `rewriter`, `gate`: `rewriter=condense`.
* `chat`, `chat_history`: `generator=chat`.
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
