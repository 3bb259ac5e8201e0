"""What the stages of a turn give, as a notebook shows it: a rewrite, and the evidence that the model sees."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from convrag.api.html import Html, format_details, format_marked, format_table
from convrag.api.types import Answer, Evidence, EvidenceItem, Query, Rewrite

SHOWN = 10
"""The number of passages and of queries that are shown at once."""


def format_rewrite_html(rewrite: Rewrite) -> str:
    """Format a rewrite: its queries, why it fell back, and how they were made."""
    about = format_table((), [("Fell back", rewrite.fallback)]) if rewrite.fallback else ""
    first, others = rewrite.queries[:SHOWN], rewrite.queries[SHOWN:]
    more = (
        format_details(f"{len(others)} more {'query' if len(others) == 1 else 'queries'}", format_queries(others))
        if others
        else ""
    )
    return f"<div>{format_queries(first)}{more}{about}{_format_trace(rewrite.trace)}</div>"


def format_queries(queries: Iterable[Query]) -> Html:
    """Format queries as a table: the text, which search it is for, which rewriter made it, and the weight."""
    rows = [(query.text, query.search, query.source, f"{query.weight:.3g}") for query in queries]
    return format_table(("Query", "Search", "Rewriter", "Weight"), rows, names=3)


def format_evidence_html(evidence: Evidence) -> str:
    """Format evidence: its passages as the model sees them, and what was left out."""
    items = evidence.items
    more = f", the first {SHOWN}" if len(items) > SHOWN else ""
    passages = format_passages(evidence, Answer("")) if items else ""
    title = f"{len(items)} passage{'s' * (len(items) != 1)}{more}"
    return f"<div><p>{title}</p>{passages}{_format_trace(evidence.trace)}</div>"


def format_passages(evidence: Evidence, answer: Answer, relevant: Container[str] = ()) -> Html:
    """Format the first passages of the evidence as a table; what the answer rests on is marked (`Answer.support`).

    Args:
        evidence: the passages.
        answer: which cites some of them.
        relevant: ids of passages that are judged relevant.
    """
    rows = [
        (
            f"[{item.number}]",
            item.passage.name,
            ", ".join(_list_labels(item, answer, relevant)),
            format_marked(item.text, _find_shown_spans(answer, item)),
        )
        for item in evidence.items[:SHOWN]
    ]
    return format_table(("", "Passage", "", "Text"), rows)


def _list_labels(item: EvidenceItem, answer: Answer, relevant: Container[str]) -> Iterator[str]:
    if item.passage.id in relevant:
        yield "relevant"
    if item.passage.id in answer.citations:
        yield "cited"
    if item.hint:
        yield "hint"


def _format_trace(trace: Mapping[str, Any]) -> str:
    return format_details("Trace", format_table((), list(trace.items()))) if trace else ""


def _find_shown_spans(answer: Answer, item: EvidenceItem) -> list[tuple[int, int]]:
    """Find what the answer rests on in a passage as it was shown: in its whole text, maybe behind its title."""
    before = item.text.find(item.passage.text)
    return [] if before < 0 else [(before + a, before + b) for a, b in answer.find_spans(item.passage.id)]
