"""What a run is measured by."""

from __future__ import annotations

from convrag.hookspecs import Register, hookimpl
from convrag_metrics.ranking import RankingMetrics

__all__ = ["RankingMetrics"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the metrics."""
    register("metrics", "ranking", RankingMetrics)
