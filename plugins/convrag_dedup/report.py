"""What deduplication came to in a run, read from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Report, TurnRecord
from convrag_dedup.stats import DOCUMENT_COUNTS, TOKEN_COUNTS, deduplication_rate

TITLE = "deduplication"
"""Of this report, and of what metrics=prefix_reuse adds to it."""

_COUNTS = (*DOCUMENT_COUNTS, "num_sent_again", *TOKEN_COUNTS)


def report_deduplication(records: Iterable[TurnRecord]) -> Report | None:
    """What context=dedup came to in a run: totals, and totals by the position of turns; None for another context."""
    by_turn: dict[int, Counter[str]] = {}
    for record in records:
        trace = record.trace.get("context", {})
        if "num_deduplicated" in trace:
            counter = by_turn.setdefault(record.number, Counter())
            counter.update({name: trace[name] for name in _COUNTS})
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
    named = {name: counts.get(name, 0) for name in ("turns", *_COUNTS, "missing")}
    return named | {"deduplication_rate": deduplication_rate(named["num_deduplicated"], named["num_retrieved"])}


def _report_lines(overall: Mapping[str, Any]) -> tuple[str, ...]:
    line = (
        f"Deduplication: {overall['num_deduplicated']} of {overall['num_retrieved']} passages "
        f"({overall['deduplication_rate']:.1%}) were shown as hints, {overall['num_sent_again']} earlier ones in full "
        f"again; {overall['tokens_saved']:,} tokens saved, {overall['tokens_sent_again']:,} sent again."
    )
    missing = overall["missing"]
    return (line, f"{missing} retrieved passages have no text, and were not shown.") if missing else (line,)
