"""A rewriter and a generator in the manner of Perplexity: follow-ups are condensed where a gate says so, and answered
in a chat.

`rewriter=condense`: rewriter, gate, drift_check. `generator=chat`: chat, chat_history, meta_responses.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=condense` and `generator=chat`."""
    register("rewriter", "condense", "convrag_condense.rewriter:CondenseRewriter")
    register("generator", "chat", "convrag_condense.chat:ChatGenerator")
