"""`metrics=dedup`, and what a run reports of deduplication: totals by position of turns, and prefix reuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Metrics, Report, Run, TurnRecord, hookimpl
from convrag_dedup.prefix_reuse import PromptTokens, find_metrics
from convrag_dedup.stats import DOCUMENT_COUNTS, TOKEN_COUNTS, deduplication_rate

_COUNTS = (*DOCUMENT_COUNTS, "num_sent_again", *TOKEN_COUNTS)


class DedupMetrics(Metrics):
    """How many passages a turn shows as hints, and how many tokens that saved.

    Read from the evidence, so that context=full can be measured as well, with no hint. Overall figures are means over
    turns; the rate of all passages together stands in the run's report.
    """

    def measure(self, records: Iterable[TurnRecord]) -> Mapping[str, Mapping[str, float]]:
        """Turns without evidence are left out, since they had nothing to save."""
        return {record.turn_id: _measure_turn(record) for record in records if record.evidence.items}


@hookimpl
def convrag_report(run: Run, records: Iterable[TurnRecord]) -> Report | None:
    """Add up the traces of context=dedup and the counts of metrics=prefix_reuse, where the run has either."""
    lines, numbers = _report_deduplication(records)
    for metric in find_metrics(run)[:1]:
        reuse_lines, reuse_numbers = _report_prefix_reuse(metric.tokens_by_conversation())
        lines, numbers = (*lines, *reuse_lines), numbers | reuse_numbers
    return Report("deduplication", lines, numbers) if lines else None


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


def _report_deduplication(records: Iterable[TurnRecord]) -> tuple[tuple[str, ...], dict[str, Any]]:
    by_turn: dict[int, Counter[str]] = {}
    for record in records:
        trace = record.trace.get("context", {})
        if "num_deduplicated" in trace:
            counter = by_turn.setdefault(record.number, Counter())
            counter.update({name: trace[name] for name in _COUNTS})
            counter.update(turns=1, missing=len(trace["missing"]))
    if not by_turn:
        return (), {}
    sums: Counter[str] = Counter()
    for counter in by_turn.values():
        sums.update(counter)
    overall = _add_rate(sums)
    return _report_lines(overall), {
        "overall": overall,
        "by_turn": {str(number): _add_rate(by_turn[number]) for number in sorted(by_turn)},
    }


def _report_prefix_reuse(conversations: Mapping[str, PromptTokens]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The share of all prompt tokens together, and of each conversation's."""
    if not (total := sum(tokens.total for tokens in conversations.values())):
        return (), {}
    share = sum(tokens.reused for tokens in conversations.values()) / total
    shares = {name: round(tokens.reused / tokens.total, 4) for name, tokens in conversations.items()}
    line = f"Prefix reuse: {share:.1%} of {total:,.0f} prompt tokens began as an earlier request of the conversation."
    return (line,), {"prefix_reuse": {"overall": share, "prompt_tokens": total, "by_conversation": shares}}


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
