"""The rewriters that every paper compares with."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_baselines.blend import BlendRewriter
from convrag_baselines.full_history import FullHistoryRewriter
from convrag_baselines.plain import AllQuestionsRewriter, LastNRewriter, NoRewriter
from convrag_baselines.threshold import ThresholdRewriter

__all__ = [
    "AllQuestionsRewriter",
    "BlendRewriter",
    "FullHistoryRewriter",
    "LastNRewriter",
    "NoRewriter",
    "ThresholdRewriter",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("rewriter", "none", NoRewriter)
    register("rewriter", "all_questions", AllQuestionsRewriter)
    register("rewriter", "last_n", LastNRewriter)
    register("rewriter", "blend", BlendRewriter)
    register("rewriter", "full_history", FullHistoryRewriter)
    register("rewriter", "threshold", ThresholdRewriter)
