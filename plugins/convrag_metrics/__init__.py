"""Metrics of rankings, answers, citations and rewrites."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_metrics.answerability import AnswerabilityMetrics
from convrag_metrics.answers import AnswerMetrics
from convrag_metrics.bertscore import BertScoreMetrics
from convrag_metrics.grounding import GroundingMetrics
from convrag_metrics.ranking import RankingMetrics
from convrag_metrics.rb_agg import RbAggMetrics
from convrag_metrics.rewrites import RewriteMetrics

__all__ = [
    "AnswerMetrics",
    "AnswerabilityMetrics",
    "BertScoreMetrics",
    "GroundingMetrics",
    "RankingMetrics",
    "RbAggMetrics",
    "RewriteMetrics",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the metrics."""
    register("metrics", "ranking", RankingMetrics)
    register("metrics", "answers", AnswerMetrics)
    register("metrics", "bertscore", BertScoreMetrics)
    register("metrics", "rb_agg", RbAggMetrics)
    register("metrics", "grounding", GroundingMetrics)
    register("metrics", "answerability", AnswerabilityMetrics)
    register("metrics", "rewrites", RewriteMetrics)
