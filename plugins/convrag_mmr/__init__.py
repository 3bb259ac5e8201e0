"""MMR cluster rewriting: topics of the history, their most telling sentences, and a rewrite from those."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_mmr.rewriter import MMRRewriter

__all__ = ["MMRRewriter"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("rewriter", "mmr", MMRRewriter)
