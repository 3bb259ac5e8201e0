"""`metrics=dedup`: documents and tokens of each turn, for any context, so that one sweep compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from convrag import Metrics, TurnRecord
from convrag_dedup.deduplication import rate

_TOKENS = ("tokens_saved", "tokens_sent_again")


class DedupMetrics(Metrics):
    """How many passages a turn shows as hints, and what that saved.

    Read from the evidence, so context=full counts as well, with no hint. Overall figures are means over turns; the
    rate of all passages together stands in the run's report.
    """

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Turns without evidence are left out: nothing could have been saved there."""
        return {record.turn_id: _measured(record) for record in records if record.evidence.items}


def _measured(record: TurnRecord) -> dict[str, float]:
    trace = record.trace.get("context", {})
    hinted = sum(item.hint for item in record.evidence.items)
    retrieved = len(record.evidence.items) + len(trace.get("missing", ()))
    return {
        "num_retrieved": float(retrieved),
        "num_novel": float(len(record.evidence.items) - hinted),
        "num_deduplicated": float(hinted),
        "deduplication_rate": rate(hinted, retrieved),
    } | {name: float(trace.get(name, 0)) for name in _TOKENS}
