"""`metrics=dedup`, and the report of deduplication in a run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from convrag import Measurement, Metrics, Report, TurnRecord
from convrag_dedup.stats import DOCUMENT_COUNTS, TOKEN_COUNTS, deduplication_rate

TITLE = "deduplication"
"""The title of this report, to which metrics=prefix_reuse adds its own figures."""

_REPORTED = (*DOCUMENT_COUNTS, "num_sent_again", *TOKEN_COUNTS)


def report_deduplication(records: Iterable[TurnRecord]) -> Report | None:
    """Report the totals of context=dedup in a run, also by the position of the turns.

    None for another context.
    """
    by_turn: dict[int, Counter[str]] = {}
    for record in records:
        trace = record.trace.get("context", {})
        if "num_deduplicated" in trace:
            counter = by_turn.setdefault(record.number, Counter())
            counter.update({name: trace[name] for name in _REPORTED})
            counter.update(turns=1, missing=len(trace["missing"]))
    if not by_turn:
        return None
    sums: Counter[str] = Counter()
    for counter in by_turn.values():
        sums.update(counter)
    overall = _add_rate(sums)
    turns = {str(number): _add_rate(by_turn[number]) for number in sorted(by_turn)}
    return Report(TITLE, _report_lines(overall), {"overall": overall, "by_turn": turns})


def _add_rate(counts: Mapping[str, int]) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for name in ("turns", *_REPORTED, "missing"):
        numbers[name] = counts.get(name, 0)
    rate = deduplication_rate(numbers["num_deduplicated"], numbers["num_retrieved"])
    return numbers | {"deduplication_rate": rate}


def _report_lines(overall: Mapping[str, Any]) -> tuple[str, ...]:
    line = (
        f"Deduplication: {overall['num_deduplicated']} of {overall['num_retrieved']} passages "
        f"({overall['deduplication_rate']:.1%}) were shown as hints, "
        f"{overall['num_sent_again']} earlier ones in full again; "
        f"{overall['tokens_saved']:,} tokens saved, {overall['tokens_sent_again']:,} sent again."
    )
    missing = overall["missing"]
    if not missing:
        return (line,)
    return (line, f"{missing} retrieved passages have no text, and were not shown.")


class DedupMetrics(Metrics):
    """How many passages a turn shows as hints, and how many tokens that saved.

    Read from the evidence, so that context=full can be measured as well, with no hint. Overall
    figures are means over turns; the rate of all passages together stands in the run's report.
    """

    def list_measures(self) -> Sequence[str]:
        return (
            "num_retrieved",
            "num_novel",
            "num_deduplicated",
            "deduplication_rate",
            *TOKEN_COUNTS,
        )

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Measure the turns with evidence; others have nothing to save."""
        values = {
            record.turn_id: _measure_turn(record) for record in records if record.evidence.items
        }
        return Measurement(values, report=report_deduplication(records))


def _measure_turn(record: TurnRecord) -> dict[str, float]:
    trace = record.trace.get("context", {})
    shown = len(record.evidence.items)
    hinted = len([item for item in record.evidence.items if item.hint])
    retrieved = shown + len(trace.get("missing", ()))
    measures = {
        "num_retrieved": float(retrieved),
        "num_novel": float(shown - hinted),
        "num_deduplicated": float(hinted),
        "deduplication_rate": deduplication_rate(hinted, retrieved),
    }
    for name in TOKEN_COUNTS:
        measures[name] = float(trace.get(name, 0))
    return measures
