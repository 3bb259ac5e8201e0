"""Baseline rewriters: what papers compare their rewriters with.

Without a model: concatenation (`none`, `all_questions`, `last_n`) and blend. With an LLM: full_history and threshold.
"""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_baselines.blend import BlendRewriter
from convrag_baselines.concatenation import AllQuestionsRewriter, LastNRewriter, NoRewriter
from convrag_baselines.full_history import FullHistoryRewriter
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
