"""MTRAG's format of predictions, and the parts that other formats of IBM share with it.

From: scripts/evaluation/README.md and format_checker.py of github.com/IBM/mt-rag-benchmark.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from convrag import Hit, TurnRecord
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.data.trec import break_ties
from convrag_tasks.run_records import DatasetTurn

LIMIT = 10
"""The most contexts of a turn that the format checker allows."""

COLLECTIONS: Mapping[str, str] = {
    "clapnq": "mt-rag-clapnq-elser-512-100-20240503",
    "govt": "mt-rag-govt-elser-512-100-20240611",
    "fiqa": "mt-rag-fiqa-beir-elser-512-100-20240501",
    "cloud": "mt-rag-ibmcloud-elser-512-100-20240502",
}
"""Domain -> its collection in MTRAG's retrieval script; other domains keep their names."""

LABELS: Mapping[str, str] = {
    "answerability": "Answerability",
    "question_type": "Question Type",
    "multi_turn": "Multi-Turn",
}
"""Label -> its name in MTRAG's files; other labels keep their names."""

Contexts = Literal["evidence", "hits"]
"""The passages that are a turn's contexts: its evidence, or its whole ranking."""


def format_mtrag_lines(
    records: Sequence[TurnRecord], turns: Mapping[str, DatasetTurn], contexts: Contexts
) -> Iterator[str]:
    """Yield the lines of the file.

    A turn that failed has an empty prediction, because the checker wants every turn.

    Args:
        records: the records of the run.
        turns: the turns of the data set.
        contexts: whether a turn's contexts are its evidence or its hits.
    """
    for record in records:
        place = turns[record.turn_id]
        targets = []
        if place.turn.answer:
            targets.append({"speaker": "agent", "text": place.turn.answer})
        task = {
            **make_task(record, place),
            "task_type": "rag",
            "contexts": format_contexts(list_context_hits(record, contexts)),
            "targets": targets,
            **rename_labels(place.turn.labels),
            "predictions": [{"text": record.answer.text}],
        }
        yield format_json(task)


def make_task(record: TurnRecord, place: DatasetTurn) -> dict[str, Any]:
    """Make the fields that identify a task of MTRAG, with its conversation."""
    return {
        "conversation_id": record.conversation_id,
        "task_id": record.turn_id,
        "turn": str(record.number),
        "Collection": COLLECTIONS.get(record.domain, record.domain),
        "input": list_messages(place),
    }


def exceeds_limit(record: TurnRecord, contexts: Contexts) -> bool:
    """Whether a turn has more contexts than the checker allows."""
    return len(record.hits if contexts == "hits" else record.evidence.items) > LIMIT


def list_context_hits(record: TurnRecord, contexts: Contexts) -> list[Hit]:
    """List the contexts of a turn, with the scores that ranked them."""
    if contexts == "hits":
        return list(record.hits)
    scores = {hit.passage.id: hit.score for hit in record.hits}
    return [Hit(item.passage, scores.get(item.passage.id, 0.0)) for item in record.evidence.items]


def format_contexts(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """Format the first 10 passages.

    Their scores fall strictly, because MTRAG's retrieval script sorts them by score.
    """
    contexts = []
    for hit, score in zip(hits[:LIMIT], break_ties(hits), strict=False):
        contexts.append(
            {
                "document_id": hit.passage.id,
                "source": "",
                "score": score,
                "text": hit.passage.text,
                "title": hit.passage.title,
                "url": hit.passage.url,
            }
        )
    return contexts


def list_messages(place: DatasetTurn) -> list[dict[str, str]]:
    """List the conversation up to the question, with the data set's answers, as MTRAG does."""
    messages: list[dict[str, str]] = []
    turns = (*place.conversation.history, *place.conversation.turns)
    for turn in turns[: place.number - 1]:
        messages.append({"speaker": "user", "text": turn.question})
        messages.append({"speaker": "agent", "text": turn.answer})
    messages.append({"speaker": "user", "text": place.turn.question})
    return messages


def rename_labels(labels: Mapping[str, Any]) -> dict[str, list[str]]:
    """Give labels MTRAG's names, each with a list of values."""
    renamed = {}
    for name, value in labels.items():
        values = value if isinstance(value, list | tuple) else [value]
        renamed[LABELS.get(name, name)] = [str(each) for each in values]
    return renamed
