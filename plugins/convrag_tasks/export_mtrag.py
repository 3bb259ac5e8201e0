"""MTRAG's prediction format: a line of JSON for each task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from convrag import Hit, TurnRecord
from convrag.run.writers import strictly_falling
from convrag_tasks.export_talk import labelled, spoken
from convrag_tasks.given_turns import Asked

LIMIT = 10
"""Contexts of a turn that the format checker allows."""

COLLECTIONS: Mapping[str, str] = {
    "clapnq": "mt-rag-clapnq-elser-512-100-20240503",
    "govt": "mt-rag-govt-elser-512-100-20240611",
    "fiqa": "mt-rag-fiqa-beir-elser-512-100-20240501",
    "cloud": "mt-rag-ibmcloud-elser-512-100-20240502",
}
"""The names by which MTRAG's retrieval script knows its domains; another domain goes by its own."""


def mtrag_lines(
    records: Sequence[TurnRecord], turns: Mapping[str, Asked], contexts: Literal["evidence", "hits"]
) -> Iterator[str]:
    """The lines of the file; a turn that failed has an empty prediction, for the checker wants every task."""
    for record in records:
        place = turns[record.turn_id]
        task = {
            "conversation_id": record.conversation_id,
            "task_id": record.turn_id,
            "task_type": "rag",
            "turn": str(record.number),
            "Collection": COLLECTIONS.get(record.domain, record.domain),
            "contexts": _contexts(record, contexts),
            "input": spoken(place),
            "targets": [{"speaker": "agent", "text": place.turn.answer}] if place.turn.answer else [],
            **labelled(place.turn.labels),
            "predictions": [{"text": record.answer.text}],
        }
        yield json.dumps(task, ensure_ascii=False)


def cut(record: TurnRecord, contexts: Literal["evidence", "hits"]) -> bool:
    """Whether a turn has more contexts than the checker allows."""
    return len(record.hits if contexts == "hits" else record.evidence.items) > LIMIT


def _contexts(record: TurnRecord, contexts: Literal["evidence", "hits"]) -> list[dict[str, Any]]:
    """Passages with scores that fall strictly, for MTRAG's retrieval script orders them by score."""
    if contexts == "hits":
        shown = list(record.hits)
    else:
        scores = {hit.passage.id: hit.score for hit in record.hits}
        shown = [Hit(item.passage, scores.get(item.passage.id, 0.0)) for item in record.evidence.items]
    scored = zip(shown[:LIMIT], strictly_falling(shown), strict=False)
    return [
        {
            "document_id": hit.passage.id,
            "source": "",
            "score": score,
            "text": hit.passage.text,
            "title": hit.passage.title,
            "url": hit.passage.url,
        }
        for hit, score in scored
    ]
