"""A rewriter and a generator in the manner of Perplexity: follow-ups are condensed where a gate says so, and answered
in a chat.
"""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter

__all__ = ["ChatGenerator", "CondenseRewriter"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=condense` and `generator=chat`."""
    register("rewriter", "condense", CondenseRewriter)
    register("generator", "chat", ChatGenerator)
