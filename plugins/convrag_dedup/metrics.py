"""`metrics=dedup`: passages shown as hints, and tokens saved, of each turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convrag import Measurement, Metrics, TurnRecord
from convrag_dedup.stats import TOKEN_COUNTS, deduplication_rate, report_deduplication


class DedupMetrics(Metrics):
    """How many passages a turn shows as hints, and how many tokens that saved.

    Read from the evidence, so that context=full can be measured as well, with no hint. Overall figures are means over
    turns; the rate of all passages together stands in the run's report.
    """

    def list_measures(self) -> Sequence[str]:
        return ("num_retrieved", "num_novel", "num_deduplicated", "deduplication_rate", *TOKEN_COUNTS)

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Turns without evidence are left out, since they had nothing to save."""
        values = {record.turn_id: _measure_turn(record) for record in records if record.evidence.items}
        return Measurement(values, report=report_deduplication(records))


def _measure_turn(record: TurnRecord) -> dict[str, float]:
    trace = record.trace.get("context", {})
    hinted = sum(item.hint for item in record.evidence.items)
    retrieved = len(record.evidence.items) + len(trace.get("missing", ()))
    return {
        "num_retrieved": float(retrieved),
        "num_novel": float(len(record.evidence.items) - hinted),
        "num_deduplicated": float(hinted),
        "deduplication_rate": deduplication_rate(hinted, retrieved),
    } | {name: float(trace.get(name, 0)) for name in TOKEN_COUNTS}
