"""MTRAG's generation tasks: each holds the conversation up to a turn, and the answer that people approved."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag import Conversation, DataError, Passage, Turn
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row
from convrag_datasets.turns import TurnRow, group_turns, pair_messages, split_turn_id

_LABELS = {"answerability": "Answerability", "question_type": "Question Type", "multi_turn": "Multi-Turn"}


def read_reference(
    path: Path, domains: Collection[str], chosen: Collection[str], *, give_history: bool = False
) -> tuple[Conversation, ...]:
    """The conversations of the chosen domains, with reference answers, passages and labels.

    Args:
        path: reference.jsonl.
        domains: all domains of the benchmark; each task names one.
        chosen: those that are wanted.
        give_history: whether turns before a conversation's first task are given as its history, and not asked.

    Raises:
        DataError: a line is no task, a turn occurs twice, or there is no conversation.
    """
    rows = list(_read_tasks(path, domains, chosen))
    conversations = group_turns(rows)
    if not conversations:
        raise DataError(f"this file holds no conversations about {', '.join(chosen)}", path=path)
    if not give_history:
        return conversations
    tasks = {row.turn.id for row in rows}
    return tuple(_give_history(conversation, tasks) for conversation in conversations)


def _give_history(conversation: Conversation, tasks: Collection[str]) -> Conversation:
    first = next(number for number, turn in enumerate(conversation.turns) if turn.id in tasks)
    return replace(conversation, turns=conversation.turns[first:], history=conversation.turns[:first])


def find_domain(collection: str, domains: Collection[str]) -> str:
    """The longest domain in the name of an index ("mt-rag-ibmcloud-elser-..."); empty where there is none."""
    found = [domain for domain in domains if domain.casefold() in collection.casefold()]
    return max(found, key=lambda domain: (len(domain), domain), default="")


def _read_tasks(path: Path, domains: Collection[str], chosen: Collection[str]) -> Iterator[TurnRow]:
    for row in read_json_rows(path):
        domain = find_domain(row.require_text("Collection"), domains)
        if domain in chosen:
            yield _read_task(row, domain)


def _read_task(row: Row, domain: str) -> TurnRow:
    task_id = row.require_text("task_id")
    if not (conversation_and_number := split_turn_id(task_id)):
        raise row.error(f"'task_id' must be conversation<::>turn with a number, not {task_id!r}")
    exchanges = pair_messages(row.require_items("input"))
    if not exchanges:
        raise row.error("'input' holds no question")
    *history, (question, _) = exchanges
    turn = Turn(task_id, question, _read_answer(row), tuple(_read_passages(row)), _read_labels(row))
    return TurnRow(row, *conversation_and_number, turn, domain, tuple(history))


def _read_answer(row: Row) -> str:
    targets = row.optional_items("targets")
    return targets[0].optional_text("text") if targets else ""


def _read_passages(row: Row) -> Iterator[Passage]:
    for context in row.optional_items("contexts"):
        title, url = context.optional_text("title"), context.optional_text("url")
        yield Passage(context.require_id("document_id"), context.optional_text("text"), title, url)


def _read_labels(row: Row) -> dict[str, Any]:
    """Labels by convrag's names: a string, or a list of strings where there are several."""
    labels: dict[str, Any] = {}
    given = {name.casefold().replace("_", " "): name for name in row.fields}  # MTRAG-UN writes "answerability"
    for label, published in _LABELS.items():
        name = given.get(published.casefold(), published)
        value = row.fields.get(name)
        values = [value] if isinstance(value, str) else value or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise row.error(f"{name!r} must be a string or a list of strings")
        if values:
            labels[label] = values[0] if len(values) == 1 else values
    return labels
