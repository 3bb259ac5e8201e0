"""The clusterer of GINGER's best runs; it needs the extra `bertopic`."""

from __future__ import annotations

from convrag import Register, hookimpl
from convrag_bertopic.clusterer import BertopicClusterer

__all__ = ["BertopicClusterer"]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's option."""
    register("clusterer", "bertopic", BertopicClusterer)
