"""What the stages of a turn return, checked where it arrives: else it would fail later, in somebody else's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from convrag.api.stages import Context, Generator, Memory, Ranker, Retriever, Rewriter, Selector
from convrag.api.types import (
    Answer,
    Evidence,
    EvidenceItem,
    Hit,
    MemoryView,
    Message,
    Passage,
    PassageSpan,
    Query,
    Rewrite,
    Selection,
    Support,
    Turn,
)
from convrag.turn.defects import check_items, check_type, make_error, name_type


def check_view(stage: Memory, result: Any) -> MemoryView:
    """Return a memory's view of the history. Raises StageFault."""
    view: MemoryView = check_type(stage, "view", result, MemoryView)
    for turn in check_items(stage, "view", view.history, Turn):
        for text in (turn.id, turn.question, turn.answer):
            check_type(stage, "view", text, str)
    _check_notes(stage, "view", view)
    return view


def check_rewrite(stage: Rewriter, result: Any) -> Rewrite:
    """Return a rewriter's result. Raises StageFault."""
    rewrite: Rewrite = check_type(stage, "rewrite", result, Rewrite)
    for query in check_items(stage, "rewrite", rewrite.queries, Query):
        check_type(stage, "rewrite", query.text, str)
    _check_notes(stage, "rewrite", rewrite)
    return rewrite


def check_hits(stage: Retriever, result: Any) -> tuple[Hit, ...]:
    """Return a retriever's result. Raises StageFault."""
    hits = check_items(stage, "retrieve", result, Hit)
    for hit in hits:
        _check_passage(stage, "retrieve", hit.passage)
        _check_number(stage, "retrieve", hit.score)
    return hits


def check_scores(stage: Ranker, result: Any) -> list[float]:
    """Return a ranker's scores as numbers. Raises StageFault."""
    try:
        scores = result.tolist() if hasattr(result, "tolist") else list(result)
    except TypeError as error:
        raise make_error(stage, f"score returned {name_type(result)}, which is no list of numbers", "score") from error
    return [_check_number(stage, "score", score) for score in scores]


def check_selection(stage: Selector, result: Any, hits: Sequence[Hit]) -> Selection:
    """Return the passages that a selector chose among the hits. Raises StageFault."""
    selection: Selection = check_type(stage, "select", result, Selection)
    found = {hit.passage.id for hit in hits}
    for hit in check_items(stage, "select", selection.hits, Hit):
        if hit.passage.id not in found:
            raise make_error(
                stage, f"select returned the passage {hit.passage.id!r}, which is none of those it was given", "select"
            )
    _check_notes(stage, "select", selection)
    return selection


def check_messages(stage: Generator, result: Any) -> tuple[Message, ...]:
    """Return the messages that a generator will send. Raises StageFault."""
    return check_items(stage, "messages", result, Message)


def check_evidence(stage: Context, result: Any) -> Evidence:
    """Return the evidence of a turn. Raises StageFault."""
    evidence: Evidence = check_type(stage, "assemble", result, Evidence)
    for item in check_items(stage, "assemble", evidence.items, EvidenceItem):
        _check_passage(stage, "assemble", item.passage)
        check_type(stage, "assemble", item.text, str)
    check_type(stage, "assemble", evidence.trace, Mapping)
    return evidence


def add_scores(evidence: Evidence, hits: Sequence[Hit]) -> Evidence:
    """Fill in the scores that ranked the passages of the evidence."""
    scores = {hit.passage.id: hit.score for hit in reversed(hits)}
    return replace(
        evidence, items=tuple(replace(item, score=scores.get(item.passage.id, item.score)) for item in evidence.items)
    )


def check_answer(stage: Generator, result: Any) -> Answer:
    """Return a generator's answer. Raises StageFault."""
    answer: Answer = check_type(stage, "generate", result, Answer)
    check_type(stage, "generate", answer.text, str)
    check_items(stage, "generate", answer.citations, str)
    check_type(stage, "generate", answer.trace, Mapping)
    for support in check_items(stage, "generate", answer.support, Support):
        for place in (support.start, support.end):
            check_type(stage, "generate", place, int)
        for span in check_items(stage, "generate", support.spans, PassageSpan):
            check_type(stage, "generate", span.passage_id, str)
            for place in (span.start, span.end):
                check_type(stage, "generate", place, int)
    return answer


def _check_notes(stage: Any, method: str, result: MemoryView | Rewrite | Selection) -> None:
    check_type(stage, method, result.fallback, str)
    check_type(stage, method, result.trace, Mapping)


def _check_passage(stage: Any, method: str, passage: Any) -> None:
    check_type(stage, method, passage, Passage)
    for text in (passage.id, passage.text, passage.title, passage.url):
        check_type(stage, method, text, str)


def _check_number(stage: Any, method: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise make_error(
            stage, f"{method} returned {name_type(value)} as a score, which is no number", method
        ) from error
