"""Answers assessed by language models or from files of judgements: nuggets, ratings by a rubric,
and agreement.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag import Register, hookimpl

if TYPE_CHECKING:
    from convrag_judging.nugget_scores import scores

_LAZY = {"scores": "nugget_scores"}

__all__ = ["scores"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("metrics", "nuggets", "convrag_judging.nuggets:NuggetMetrics")
    register("metrics", "judge", "convrag_judging.judge:JudgeMetrics")
    for name in (
        "answer_relevancy",
        "context_precision",
        "context_recall",
    ):  # as other tools call them
        register("metrics", name, "convrag_judging.judge:JudgeMetrics", rubric=name)
    register("task", "agreement", "convrag_judging.agreement_task:AgreementTask")
    register("task", "score_nuggets", "convrag_judging.score_nuggets_task:ScoreNuggetsTask")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
