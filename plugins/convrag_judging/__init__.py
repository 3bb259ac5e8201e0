"""Answers judged by a language model through the one door, or by files of given judgements."""

from __future__ import annotations

from convrag.hookspecs import Register, hookimpl
from convrag_judging.nuggets import NuggetMetrics, convrag_report
from convrag_judging.scoring import scores

__all__ = ["NuggetMetrics", "convrag_report", "scores"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the metrics."""
    register("metrics", "nuggets", NuggetMetrics)
