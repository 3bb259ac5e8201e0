"""MTRAG's prediction format: a line of JSON for each turn. That of SemEval's subtasks is export_semeval's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from convrag import Hit, TurnRecord
from convrag.sdk.strict_json import format_json
from convrag.sdk.tasks.runs import break_ties
from convrag_tasks.dataset_turns import DatasetTurn

LIMIT = 10
"""The most contexts of a turn that the format checker allows."""

COLLECTIONS: Mapping[str, str] = {
    "clapnq": "mt-rag-clapnq-elser-512-100-20240503",
    "govt": "mt-rag-govt-elser-512-100-20240611",
    "fiqa": "mt-rag-fiqa-beir-elser-512-100-20240501",
    "cloud": "mt-rag-ibmcloud-elser-512-100-20240502",
}
"""Domain -> the name of its collection in MTRAG's retrieval script; other domains keep their names."""

LABELS: Mapping[str, str] = {
    "answerability": "Answerability",
    "question_type": "Question Type",
    "multi_turn": "Multi-Turn",
}
"""Label -> its name in MTRAG's files; other labels keep their names."""


def format_mtrag_lines(
    records: Sequence[TurnRecord], turns: Mapping[str, DatasetTurn], contexts: Literal["evidence", "hits"]
) -> Iterator[str]:
    """The lines of the file. A turn that failed has an empty prediction, because the checker wants every turn.

    Args:
        records: of the run.
        turns: of the data set.
        contexts: whether a turn's contexts are its evidence or its hits.
    """
    for record in records:
        place = turns[record.turn_id]
        task = {
            "conversation_id": record.conversation_id,
            "task_id": record.turn_id,
            "task_type": "rag",
            "turn": str(record.number),
            "Collection": COLLECTIONS.get(record.domain, record.domain),
            "contexts": format_contexts(shown_hits(record, contexts)),
            "input": list_messages(place),
            "targets": [{"speaker": "agent", "text": place.turn.answer}] if place.turn.answer else [],
            **rename_labels(place.turn.labels),
            "predictions": [{"text": record.answer.text}],
        }
        yield format_json(task)


def exceeds_limit(record: TurnRecord, contexts: Literal["evidence", "hits"]) -> bool:
    """Whether a turn has more contexts than the checker allows."""
    return len(record.hits if contexts == "hits" else record.evidence.items) > LIMIT


def shown_hits(record: TurnRecord, contexts: Literal["evidence", "hits"]) -> list[Hit]:
    """The passages of a turn that its answer was given, with the scores that ranked them, or the whole ranking."""
    if contexts == "hits":
        return list(record.hits)
    scores = {hit.passage.id: hit.score for hit in record.hits}
    return [Hit(item.passage, scores.get(item.passage.id, 0.0)) for item in record.evidence.items]


def format_contexts(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """At most 10 passages. Their scores fall strictly, because MTRAG's retrieval script sorts them by score."""
    return [
        {
            "document_id": hit.passage.id,
            "source": "",
            "score": score,
            "text": hit.passage.text,
            "title": hit.passage.title,
            "url": hit.passage.url,
        }
        for hit, score in zip(hits[:LIMIT], break_ties(hits), strict=False)
    ]


def list_messages(place: DatasetTurn) -> list[dict[str, str]]:
    """The conversation up to the question, with the data set's answers, as MTRAG's tasks have it."""
    messages: list[dict[str, str]] = []
    said = (*place.conversation.history, *place.conversation.turns)
    for turn in said[: place.number - 1]:
        messages += [{"speaker": "user", "text": turn.question}, {"speaker": "agent", "text": turn.answer}]
    return [*messages, {"speaker": "user", "text": place.turn.question}]


def rename_labels(labels: Mapping[str, Any]) -> dict[str, list[str]]:
    """Labels by MTRAG's names, each with a list of values."""
    return {
        LABELS.get(name, name): [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]
        for name, value in labels.items()
    }
