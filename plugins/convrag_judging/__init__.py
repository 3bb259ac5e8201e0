"""Answers assessed by language models or from files of judgements: nuggets, ratings by a rubric, and agreement."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_judging.agreement import krippendorff_alpha
from convrag_judging.agreement_task import AgreementTask
from convrag_judging.judge import JudgeMetrics
from convrag_judging.nugget_scores import scores
from convrag_judging.nuggets import NuggetMetrics
from convrag_judging.score_task import ScoreNuggetsTask

__all__ = [
    "AgreementTask",
    "JudgeMetrics",
    "NuggetMetrics",
    "ScoreNuggetsTask",
    "krippendorff_alpha",
    "scores",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("metrics", "nuggets", NuggetMetrics)
    register("metrics", "judge", JudgeMetrics)
    register("task", "agreement", AgreementTask)
    register("task", "score_nuggets", ScoreNuggetsTask)
