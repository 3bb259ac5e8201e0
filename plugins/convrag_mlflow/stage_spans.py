"""The stages of a turn as spans, each followed by the calls of language models that it made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from convrag.sdk.groups import OPTION_KEY
from convrag_mlflow.call_spans import describe_cost, describe_tokens, make_call_spans
from convrag_mlflow.span_data import Passages, SpanData
from convrag_mlflow.turn_notes import Row

_TYPES = {"memory": "MEMORY", "retriever": "RETRIEVER", "reranker": "RERANKER"}
"""Stage -> the type of its span, as MLflow names them; the others are a CHAIN."""

Exchange = Mapping[str, str]
"""A turn as later ones see it: its "question" and "answer"."""


def make_stage_spans(
    row: Row, passages: Passages, history: tuple[Exchange, ...] | None, config: Mapping[str, Any]
) -> list[SpanData]:
    """Make the spans of a turn's stages, in their order. Their parent, the root, is the first span of the turn.

    Args:
        row: of the turn.
        passages: of the turn.
        history: the turns before, as this one sees them; None where it sees none.
        config: of the run: has the options of the stages.
    """
    spans: list[SpanData] = []
    record = row["record"]
    for stage in _list_stages(row):
        name = stage["name"]
        begin, end = stage["replies"]
        calls, usage = row["replies"][begin:end], record["usage"].get(name, {})
        inputs, outputs = _describe_stage(stage, record, passages, history)
        counted = {} if calls else describe_tokens(usage) | describe_cost(usage.get("cost_usd"))
        error = record["error"].removeprefix(f"{name}: ") if stage["failed"] else ""
        if fallback := record["fallbacks"].get(name, ""):
            outputs = {"fallback": fallback, **(outputs or {})}
        told = {
            "convrag.option": _get_option(config, name),
            "convrag.trace": record["trace"].get(name),
            "convrag.usage": {key: value for key, value in usage.items() if value},
            "convrag.fallback": fallback,
        }
        spans.append(
            SpanData(
                name=name,
                type=_TYPES.get(name, "CHAIN"),
                start=stage["start"],
                end=stage["end"],
                inputs=inputs,
                outputs=None if error else outputs,
                attributes=counted | {key: value for key, value in told.items() if value},
                parent=0,
                error=error,
                events=[("fallback", {"reason": fallback})] if fallback else [],
            )
        )
        spans += make_call_spans(calls, usage, stage["start"], stage["end"], parent=len(spans))
    return spans


def describe_result(record: Row, passages: Passages) -> Row:
    """The answer with the passages that it cites, or the error."""
    if record["error"]:
        return {"error": record["error"]}
    return {"answer": record["agent_response"], "citations": passages.list_cited()}


def _list_stages(row: Row) -> Iterator[Row]:
    """The stages of a turn in order, with "start" and "end", where their "replies" begin and end, and if they "failed".

    Stages run one after the other. The end of each was noted and its seconds were measured; the one that ended the turn
    by an error began when the last one before it ended. A turn may also be stopped when a stage has ended.
    """
    timings = row["record"]["timings"]
    end, replies = row.get("start", 0), 0
    for noted in row["stages"]:
        start = max(end, noted["end"] - _to_nanoseconds(timings.get(noted["name"])))
        yield {**noted, "start": start, "replies": (replies, noted["replies"]), "failed": False}
        end, replies = noted["end"], noted["replies"]
    name = row["record"]["error"].partition(":")[0]
    if name and all(name != noted["name"] for noted in row["stages"]):
        until = end + _to_nanoseconds(timings.get(name))
        yield {"name": name, "start": end, "end": until, "replies": (replies, len(row["replies"])), "failed": True}


def _describe_stage(
    stage: Row, record: Row, passages: Passages, history: tuple[Exchange, ...] | None
) -> tuple[Any, Any]:
    """What a stage was given and what it gave, as far as the record of the turn says."""
    question, query = {"question": record["original_query"]}, {"query": record["rewritten_query"]}
    match stage["name"]:
        case "memory":
            return {**question, **_describe_history(record, history)}, record["trace"].get("memory")
        case "rewriter":
            return question, {"queries": record["queries"]}
        case "retriever":
            return {"queries": record["queries"]}, passages.list_documents(stage.get("ranking", ()))
        case "reranker":
            return query, {"ranking": passages.list_ranking()}
        case "selector":
            return query | {"passages": len(record["contexts"])}, {"passages": passages.list_evidence(texts=False)}
        case "context":
            return query, {"evidence": passages.list_evidence(texts=True)}
        case "generator":
            evidence = {"evidence": passages.list_evidence(texts=False)}
            return question | query | evidence, describe_result(record, passages)
    return None, None  # of a later version


def _describe_history(record: Row, history: tuple[Exchange, ...] | None) -> Row:
    """The turns before; of those that the data set gives without asking them, their number."""
    if history is None:
        return {"history": []}
    given = record["turn"] - 1 - len(history)
    return {"history": list(history)} | ({"given_before": given} if given else {})


def _get_option(config: Mapping[str, Any], stage: str) -> str:
    settings = config.get(stage)
    return str(settings.get(OPTION_KEY, "")) if isinstance(settings, Mapping) else ""


def _to_nanoseconds(seconds: float | None) -> int:
    return round((seconds or 0.0) * 1e9)
