"""A turn's record as a notebook shows it."""

from __future__ import annotations

from convrag.api.html import format_details, format_marked, format_table, format_text
from convrag.api.records import TurnRecord
from convrag.api.types import EvidenceItem

_SHOWN = 10  # passages


def format_record_html(record: TurnRecord) -> str:
    """Format a record: question, answer, queries, the passages that the model saw, and what went wrong.

    What the answer rests on is marked in the passages, where the generator says so (`Answer.support`).
    """
    about = [("Question", record.original_query), ("Answer", record.answer.text or "(no answer)")]
    about += [("Query", f"{query.text} ({query.weight:g})") for query in record.queries]
    about += [(f"{stage} fell back", reason) for stage, reason in record.fallbacks.items()]
    about += [("Error", record.error)] if record.error else []
    items = record.evidence.items
    shown = [
        (
            f"[{item.number}]",
            item.passage.name,
            "cited" if item.passage.id in record.answer.citations else "",
            format_marked(item.text, _find_shown_spans(record, item)),
        )
        for item in items[:_SHOWN]
    ]
    more = f" (the first {_SHOWN})" if len(items) > _SHOWN else ""
    title = f"{len(items)} passages of {len(record.hits)} retrieved{more}"
    passages = format_details(title, format_table(("", "Passage", "", "Text"), shown)) if items else ""
    times = ", ".join(f"{stage} {seconds:.3f} s" for stage, seconds in record.timings.items())
    return f"<div>{format_table((), about)}{passages}<small>{format_text(times)}</small></div>"


def _find_shown_spans(record: TurnRecord, item: EvidenceItem) -> list[tuple[int, int]]:
    """Find what the answer rests on in a passage as it was shown: in its whole text, maybe behind its title."""
    before = item.text.find(item.passage.text)
    return [] if before < 0 else [(before + a, before + b) for a, b in record.answer.find_spans(item.passage.id)]
