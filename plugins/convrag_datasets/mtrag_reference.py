"""MTRAG's generation tasks: each holds the whole conversation up to a turn, and the answer that people approved."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from convrag import Conversation, DataError, Passage, Turn
from convrag_datasets.dialogue import exchanges
from convrag_datasets.json_rows import Row, read_rows
from convrag_datasets.turns import Task, assemble, split_id

_LABELS = {"answerability": "Answerability", "question_type": "Question Type", "multi_turn": "Multi-Turn"}


def read_reference(path: Path, known: Collection[str], chosen: Collection[str]) -> tuple[Conversation, ...]:
    """The conversations of the chosen domains, with reference answers, passages and labels.

    Args:
        path: reference.jsonl.
        known: all domains of the benchmark, among which a conversation finds its own.
        chosen: those that are wanted.

    Raises:
        DataError: a line is not what it should be, a turn occurs twice, or there is no conversation.
    """
    conversations = assemble(_tasks(path, known, chosen))
    if not conversations:
        raise DataError(f"this file holds no conversations about {', '.join(chosen)}", path=path)
    return conversations


def domain_of(collection: str, known: Collection[str]) -> str:
    """The domain whose name occurs in the name of an index ("mt-rag-ibmcloud-elser-..."), the longest; else empty."""
    found = [domain for domain in known if domain.casefold() in collection.casefold()]
    return max(found, key=lambda domain: (len(domain), domain), default="")


def _tasks(path: Path, known: Collection[str], chosen: Collection[str]) -> Iterator[Task]:
    for row in read_rows(path):
        domain = domain_of(row.text("Collection"), known)
        if domain in chosen:
            yield _task(row, domain)


def _task(row: Row, domain: str) -> Task:
    name = row.text("task_id")
    if not (place := split_id(name)):
        raise row.error(f"'task_id' must be conversation<::>turn with a number, not {name!r}")
    spoken = exchanges(row.rows("input", "message"))
    if not spoken:
        raise row.error("'input' holds no question")
    *earlier, (question, _) = spoken
    turn = Turn(name, question, _answer(row), tuple(_passages(row)), _labels(row))
    return Task(row, *place, turn, domain, tuple(earlier))


def _answer(row: Row) -> str:
    targets = row.rows("targets", "target") if row.data.get("targets") else []
    return targets[0].optional("text") if targets else ""


def _passages(row: Row) -> Iterator[Passage]:
    for context in row.rows("contexts", "context") if row.data.get("contexts") else []:
        title, url = context.optional("title"), context.optional("url")
        yield Passage(context.text("document_id"), context.optional("text"), title, url)


def _labels(row: Row) -> dict[str, Any]:
    """Labels by our names: a text, or a list of them where there are several."""
    labels: dict[str, Any] = {}
    for label, name in _LABELS.items():
        value = row.data.get(name)
        values = [value] if isinstance(value, str) else value or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise row.error(f"{name!r} must be a string or a list of strings")
        if values:
            labels[label] = values[0] if len(values) == 1 else values
    return labels
