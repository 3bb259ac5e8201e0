"""What a turn of `RAGPipeline` is given and what it returns, under RAGBoost's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from convrag import ConfigError, TurnRecord
from convrag.sdk.types import Usage
from convrag_dedup.deduplication import format_context, format_hint, normalise_id

_QUERY_KEYS = ("text", "query", "question")
_NO_STATISTICS = ("missing", "hints", "repeated")  # entries of a trace of context=dedup


def read_query(query: str | Mapping[str, Any]) -> str:
    """The text of a query, which is a text or a mapping that has one. Raises ConfigError."""
    if isinstance(query, str):
        return query
    for key in _QUERY_KEYS:
        if isinstance(query.get(key), str):
            return str(query[key])
    raise ConfigError(f"a query is a text, or a mapping with one under {', '.join(_QUERY_KEYS)}, not {sorted(query)}")


def describe_turn(record: TurnRecord) -> dict[str, Any]:
    """The fields of a result that each turn has.

    The context is in RAGBoost's format, whatever labels the generator's own messages have.
    """
    items, trace = record.evidence.items, record.evidence.trace
    hints = {key: format_hint(target) for key, target in trace["hints"].items()}
    shown = [(key := normalise_id(item.passage.id), hints.get(key, item.text)) for item in items]
    return {
        "query": record.original_query,
        "search_query": record.rewritten_query,
        "retrieved_docs": [hit.passage.id for hit in record.hits],
        "novel_docs": [item.passage.id for item in items if not item.hint],
        "deduplicated_docs": [item.passage.id for item in items if item.hint],
        "missing_docs": list(trace["missing"]),
        "context": format_context(shown, hints),
        "deduplication_stats": {name: value for name, value in trace.items() if name not in _NO_STATISTICS},
    }


def describe_answer(record: TurnRecord) -> dict[str, Any]:
    """The fields of a result that a turn with an answer has, too."""
    metadata = {
        "latency": record.timings["generator"],
        "model": record.answer.trace.get("model", ""),
        "citations": list(record.answer.citations),
        **asdict(record.usage.get("generator", Usage())),
    }
    return {"response": record.answer.text, "generation_metadata": metadata}
