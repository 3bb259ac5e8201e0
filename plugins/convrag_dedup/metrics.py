"""What deduplication came to in a run: totals by the position of turns, and how much of the prompts came again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Report, Run, TurnRecord, hookimpl
from convrag_dedup.deduplication import rate
from convrag_dedup.prefix_reuse import Sent, chosen

_COUNTED = ("num_retrieved", "num_novel", "num_deduplicated", "num_sent_again", "tokens_saved", "tokens_sent_again")


@hookimpl
def convrag_report(run: Run, records: Iterable[TurnRecord]) -> Report | None:
    """Add up the traces of context=dedup and the counts of metrics=prefix_reuse, where the run has either."""
    lines, numbers = _deduplication(records)
    for metric in chosen(run)[:1]:
        said, shares = _reuse(metric.pooled())
        lines, numbers = (*lines, *said), numbers | shares
    return Report("deduplication", lines, numbers) if lines else None


def _deduplication(records: Iterable[TurnRecord]) -> tuple[tuple[str, ...], dict[str, Any]]:
    turns: dict[int, Counter[str]] = {}
    for record in records:
        trace = record.trace.get("context", {})
        if "num_deduplicated" in trace:
            counter = turns.setdefault(record.number, Counter())
            counter.update({name: trace[name] for name in _COUNTED})
            counter.update(turns=1, missing=len(trace["missing"]))
    if not turns:
        return (), {}
    together: Counter[str] = Counter()
    for counter in turns.values():
        together.update(counter)
    overall = _with_rate(together)
    by_turn = {str(number): _with_rate(turns[number]) for number in sorted(turns)}
    return _lines(overall), {"overall": overall, "by_turn": by_turn}


def _reuse(pooled: Mapping[str, Sent]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The share of all prompt tokens together, and of each conversation's."""
    if not (tokens := sum(sent.tokens for sent in pooled.values())):
        return (), {}
    share = sum(sent.reused for sent in pooled.values()) / tokens
    each = {name: round(sent.reused / sent.tokens, 4) for name, sent in pooled.items()}
    line = f"Prefix reuse: {share:.1%} of {tokens:,.0f} prompt tokens began as an earlier request of the conversation."
    return (line,), {"prefix_reuse": {"overall": share, "prompt_tokens": tokens, "by_conversation": each}}


def _with_rate(counter: Mapping[str, int]) -> dict[str, Any]:
    plain = {name: counter.get(name, 0) for name in ("turns", *_COUNTED, "missing")}
    return plain | {"deduplication_rate": rate(plain["num_deduplicated"], plain["num_retrieved"])}


def _lines(overall: Mapping[str, Any]) -> tuple[str, ...]:
    said = (
        f"Deduplication: {overall['num_deduplicated']} of {overall['num_retrieved']} passages "
        f"({overall['deduplication_rate']:.1%}) were shown as hints, {overall['num_sent_again']} earlier ones in full "
        f"again; {overall['tokens_saved']:,} tokens saved, {overall['tokens_sent_again']:,} sent again."
    )
    missing = overall["missing"]
    return (said, f"{missing} retrieved passages have no text, and were not shown.") if missing else (said,)
