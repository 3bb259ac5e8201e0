"""Answers judged by a language model through the one door, or by files of given judgements."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_judging.agreement_task import AgreementTask
from convrag_judging.judge import JudgeMetrics
from convrag_judging.krippendorff import alpha
from convrag_judging.nuggets import NuggetMetrics
from convrag_judging.reporting import convrag_report
from convrag_judging.score_task import ScoreNuggetsTask
from convrag_judging.scoring import scores

__all__ = ["AgreementTask", "JudgeMetrics", "NuggetMetrics", "ScoreNuggetsTask", "alpha", "convrag_report", "scores"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("metrics", "nuggets", NuggetMetrics)
    register("metrics", "judge", JudgeMetrics)
    register("task", "agreement", AgreementTask)
    register("task", "score_nuggets", ScoreNuggetsTask)
