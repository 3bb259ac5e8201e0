"""Answers assessed by language models or from files of judgements: nuggets, ratings by a rubric, and agreement."""

from __future__ import annotations

from convrag import Register, Report, Run, hookimpl
from convrag_judging.agreement import krippendorff_alpha
from convrag_judging.agreement_task import AgreementTask
from convrag_judging.judge import JudgeMetrics, report_ratings
from convrag_judging.nugget_scores import scores
from convrag_judging.nuggets import NuggetMetrics, report_nuggets
from convrag_judging.score_task import ScoreNuggetsTask

__all__ = [
    "AgreementTask",
    "JudgeMetrics",
    "NuggetMetrics",
    "ScoreNuggetsTask",
    "convrag_report",
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


@hookimpl
def convrag_report(run: Run) -> Report | None:
    """Join the reports of metrics=nuggets and metrics=judge into one; None where the run has neither."""
    parts = [part for part in (report_nuggets(run), report_ratings(run)) if part]
    if not parts:
        return None
    return Report(
        "judging",
        tuple(line for part in parts for line in part.lines),
        {part.title: part.numbers for part in parts},
        {name: text for part in parts for name, text in part.files.items()},
    )
