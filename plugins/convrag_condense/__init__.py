"""A rewriter and a generator in the manner of Perplexity: follow-ups are condensed where a gate
says so, and answered in a chat.

`rewriter=condense`: rewriter, gate. `generator=chat`: chat, chat_history.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=condense` and `generator=chat`."""
    register(
        "rewriter",
        "condense",
        "convrag_condense.rewriter:CondenseRewriter",
        "Let a gate decide which follow-ups need the LLM, condense those, and guard "
        "against invented rewrites.",
    )
    register(
        "generator",
        "chat",
        "convrag_condense.chat:ChatGenerator",
        "Answer as a chat: the system prompt once, plain questions, each with its "
        "evidence as a note behind it.",
    )
