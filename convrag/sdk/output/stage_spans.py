"""Spans for the stages of a turn, each followed by its calls of language models."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag.api.passages import Hit, Passage
from convrag.api.records import TurnRecord, Usage
from convrag.api.rows import make_plain
from convrag.sdk.output.call_spans import make_call_spans
from convrag.sdk.output.spans import Row, count_usage, get_option, make_span, to_nanoseconds

_KINDS = {"memory": "MEMORY", "retriever": "RETRIEVER", "reranker": "RERANKER"}
"""Stage -> the kind of its span; the others are a CHAIN."""

Exchange = Mapping[str, str]
"""A turn as later ones see it: its "question" and "answer"."""


@dataclass(frozen=True)
class EndedStage:
    """A stage of a turn that has ended.

    Args:
        name: its group ("rewriter").
        end: in nanoseconds since 1970.
        replies: the number of replies of language models in the turn by then.
        ranking: the hits of a retriever, in its own order; the record of the whole turn has them in
            the reranker's.
        error: why it failed; empty if it did not.
    """

    name: str
    end: int
    replies: int
    ranking: Sequence[Hit] = ()
    error: str = ""


def make_stage_spans(
    record: TurnRecord,
    stages: Sequence[EndedStage],
    start: int,
    history: Sequence[Exchange] | None,
    config: Mapping[str, Any],
) -> list[Row]:
    """Make the spans that follow the root of a turn.

    Stages run one after the other. The end of each was noted and its seconds were measured.

    Args:
        record: of the turn.
        stages: that have ended, in their order.
        start: of the turn, in nanoseconds since 1970; 0 where it is not known.
        history: the turns before, as this one sees them; None where it sees none.
        config: has the options of the stages.
    """
    spans: list[Row] = []
    row = record.to_dict()
    last_end = start
    replies = 0
    for stage in [*stages, *_find_failed(record, stages, start)]:
        begin = max(last_end, stage.end - to_nanoseconds(record.timings.get(stage.name)))
        calls = record.replies[replies : stage.replies]
        usage = record.usage.get(stage.name, Usage())
        inputs, outputs = _describe_stage(stage, record, row, history)
        fallback = record.fallbacks.get(stage.name, "")
        if stage.error:
            outputs = None
        elif fallback:
            outputs = {"fallback": fallback, **(outputs or {})}
        attributes = _describe_options(stage.name, row, config)
        if fallback:
            attributes["convrag.fallback"] = fallback
        if not calls:  # otherwise each call has its own
            attributes |= count_usage(usage)
        span = make_span(
            stage.name,
            _KINDS.get(stage.name, "CHAIN"),
            begin,
            stage.end,
            inputs,
            outputs,
            attributes,
            error=stage.error,
            events={"fallback": {"reason": fallback}} if fallback else {},
        )
        spans.append(span)
        spans += make_call_spans(calls, usage, begin, stage.end, parent=len(spans))
        last_end = stage.end
        replies = stage.replies
    return spans


def describe_result(record: TurnRecord) -> Row:
    """Return the answer with the passages that it cites, in the order of their first citation.

    A turn that failed has its error instead.
    """
    if record.error:
        return {"error": record.error}
    numbers = record.citation_numbers
    names = {hit.passage.id: _name(hit.passage) for hit in record.hits}
    names |= {item.passage.id: _name(item.passage) for item in record.evidence.items}
    cited = [
        {"number": numbers.get(passage_id), "title": names.get(passage_id, ""), "id": passage_id}
        for passage_id in record.answer.citations
    ]
    return {"answer": record.answer.text, "citations": cited}


def _find_failed(record: TurnRecord, stages: Sequence[EndedStage], start: int) -> list[EndedStage]:
    """Return the stage that ended the turn by an error; it began when the last one before it ended.

    There is none where the turn was stopped after a stage had ended.
    """
    name, _, reason = record.error.partition(": ")
    if not name or any(name == stage.name for stage in stages):
        return []
    begin = stages[-1].end if stages else start
    end = begin + to_nanoseconds(record.timings.get(name))
    return [EndedStage(name, end, len(record.replies), error=reason)]


def _describe_options(name: str, row: Row, config: Mapping[str, Any]) -> Row:
    """Return the option of a stage, its trace and its usage, as far as there are any."""
    usage = {key: value for key, value in row["usage"].get(name, {}).items() if value}
    attributes = {
        "convrag.option": get_option(config, name),
        "convrag.trace": row["trace"].get(name),
        "convrag.usage": usage,
    }
    return {key: value for key, value in attributes.items() if value}


def _describe_stage(
    stage: EndedStage, record: TurnRecord, row: Row, history: Sequence[Exchange] | None
) -> tuple[Any, Any]:
    """Return the input and the output of a stage, as far as the record of the turn has them."""
    question = {"question": record.original_query}
    query = {"query": record.rewritten_query}
    evidence = _list_evidence(record)
    match stage.name:
        case "memory":
            return {**question, **_describe_history(record, history)}, row["trace"].get("memory")
        case "rewriter":
            return question, {"queries": row["queries"]}
        case "search":
            return {**question, **query}, row["trace"].get("search")
        case "retriever":
            return {"queries": row["queries"]}, _list_documents(stage.ranking)
        case "reranker":
            return query, {"ranking": _list_ranking(record)}
        case "selector":
            return {**query, "passages": len(record.hits)}, {"passages": evidence}
        case "context":
            return query, {"evidence": _list_shown_evidence(record)}
        case "generator":
            return {**question, **query, "evidence": evidence}, describe_result(record)
        case _:  # a stage of a later version
            return None, None


def _describe_history(record: TurnRecord, history: Sequence[Exchange] | None) -> Row:
    """Return the turns before, and how many of them the data set gave without asking them."""
    if history is None:
        return {"history": []}
    described: Row = {"history": list(history)}
    given_before = record.number - 1 - len(history)
    if given_before:
        described["given_before"] = given_before
    return described


def _list_documents(ranking: Iterable[Hit]) -> list[Row]:
    """Return the hits of a retriever, best first, as MLflow's page shows documents."""
    documents = []
    for rank, hit in enumerate(ranking, 1):
        passage = hit.passage
        metadata = {
            "title": passage.title,
            "score": make_plain(hit.score),
            "rank": rank,
            "chunk_id": passage.id,
            "doc_uri": passage.url or passage.name,
        }
        documents.append({"page_content": passage.text, "id": passage.id, "metadata": metadata})
    return documents


def _list_ranking(record: TurnRecord) -> list[Row]:
    """Return the hits in their final order."""
    return [
        {
            "rank": rank,
            "score": make_plain(hit.score),
            "title": _name(hit.passage),
            "id": hit.passage.id,
        }
        for rank, hit in enumerate(record.hits, 1)
    ]


def _list_evidence(record: TurnRecord) -> list[Row]:
    """Return the passages that the model saw, in the order in which it saw them."""
    numbers = record.citation_numbers
    return [
        {
            "number": numbers.get(item.passage.id, item.number),
            "title": _name(item.passage),
            "id": item.passage.id,
        }
        for item in record.evidence.items
    ]


def _list_shown_evidence(record: TurnRecord) -> list[Row]:
    """Return the passages that the model saw, with the text that was shown of each."""
    rows = _list_evidence(record)
    for row, item in zip(rows, record.evidence.items, strict=True):
        row["text"] = item.text
        row["hint"] = item.hint
    return rows


def _name(passage: Passage) -> str:
    return passage.place or passage.title
