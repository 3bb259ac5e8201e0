"""MMR cluster rewriting: rewrite a question from sentences of the history, chosen by clustering and MMR."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_mmr.rewriter import MMRRewriter

__all__ = ["MMRRewriter"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("rewriter", "mmr", MMRRewriter)
