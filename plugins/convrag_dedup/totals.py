"""Totals over several conversations, under the seed's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convrag_dedup.deduplication import rate

_SUMMED = ("total_retrieved", "total_novel", "total_deduplicated")
_TOKENS = ("tokens_saved", "tokens_sent_again")  # where somebody has counted them


def totals_of_all(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of the conversations' statistics. The average rate is that of all documents, not a mean of rates."""
    counted = [*_SUMMED, *(name for name in _TOKENS if all(name in stats for stats in found))]
    sums = {name: sum(stats[name] for stats in found) for name in counted}
    turns = sum(stats["turn_count"] for stats in found)
    return {
        "total_conversations": len(found),
        "total_turns": turns,
        **sums,
        "average_deduplication_rate": rate(sums["total_deduplicated"], sums["total_retrieved"]),
        "average_turns_per_conversation": turns / len(found) if found else 0.0,
    }
