"""A conversation in the manner of Perplexity: gate, condense, and messages that do not break the model."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_condense.chat import ChatGenerator
from convrag_condense.rewriter import CondenseRewriter

__all__ = ["ChatGenerator", "CondenseRewriter"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("rewriter", "condense", CondenseRewriter)
    register("generator", "chat", ChatGenerator)
