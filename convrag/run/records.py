"""A turn's record as a line of JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from convrag.api.types import Answer, Evidence, EvidenceItem, Hit, Passage, Query, TurnRecord, Usage
from convrag.sdk.jsonl import read_lines

_TEXTS = ("text", "title", "url")


def to_json(record: TurnRecord) -> str:
    """One line of an intermediate file."""
    fields = {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "domain": record.domain,
        "turn": record.number,
        "original_query": record.original_query,
        "rewritten_query": record.rewritten_query,
        "queries": [{"text": query.text, "weight": query.weight} for query in record.queries],
        "trace": record.trace,
        "contexts": [_context(hit) for hit in record.hits],
        "evidence": _evidence(record),
        "agent_response": record.answer.text,
        "citations": record.answer.citations,
        "timings": {stage: round(seconds, 6) for stage, seconds in record.timings.items()},
        "usage": {stage: asdict(usage) for stage, usage in record.usage.items()},
        "fallbacks": record.fallbacks,
        "error": record.error,
        "labels": record.labels,
    }
    return json.dumps(fields, ensure_ascii=False, default=_plain)


def read_records(folder: Path) -> Iterator[TurnRecord]:
    """Stream the records of a run from its `intermediate` folder, file by file. Raises DataError for a broken line."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in read_lines(path):
            try:
                yield from_json(line.text)
            except (ValueError, KeyError, TypeError) as error:
                raise line.error(f"this is no record of a turn ({error!r})") from error


def from_json(line: str) -> TurnRecord:
    """A record as `to_json` wrote it. Evidence comes back with the text of its passage, also where it was a hint."""
    row = json.loads(line)
    hits = tuple(Hit(Passage(c["id"], c["text"], c["title"], c["url"]), c["score"]) for c in row["contexts"])
    passages = {hit.passage.id: hit.passage for hit in hits}
    shown = []
    for item in row["evidence"]:
        passage = passages.get(item["id"]) or Passage(item["id"], *(item.get(name, "") for name in _TEXTS))
        shown.append(EvidenceItem(item["number"], passage, passage.text, item["hint"]))
    return TurnRecord(
        conversation_id=row["conversation_id"],
        turn_id=row["turn_id"],
        domain=row["domain"],
        number=row["turn"],
        original_query=row["original_query"],
        queries=tuple(Query(q["text"], q["weight"], row["turn_id"], row["domain"]) for q in row["queries"]),
        hits=hits,
        evidence=Evidence(tuple(shown)),
        answer=Answer(row["agent_response"], tuple(row["citations"])),
        trace=row["trace"],
        timings=row["timings"],
        usage={stage: Usage(**usage) for stage, usage in row["usage"].items()},
        fallbacks=row["fallbacks"],
        error=row["error"],
        labels=row["labels"],
    )


def _evidence(record: TurnRecord) -> list[dict[str, Any]]:
    """What was shown, by id; with its text where it is none of the hits."""
    found = {hit.passage.id for hit in record.hits}
    return [
        {"number": item.number, "id": item.passage.id, "hint": item.hint}
        | ({} if item.passage.id in found else {name: getattr(item.passage, name) for name in _TEXTS})
        for item in record.evidence.items
    ]


def _context(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    return {
        "id": passage.id,
        "title": passage.title,
        "text": passage.text,
        "score": hit.score,
        "url": passage.url,
    }


def _plain(value: Any) -> Any:
    """What a stage may leave in its trace besides JSON: numpy scalars and arrays, mappings, tuples, paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__dataclass_fields__"):
        return asdict(value)
    return str(value)
