"""BEIR's queries.jsonl, one turn a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convrag import Conversation, DataError, Turn
from convrag.sdk.utterances import utterances
from convrag_datasets.json_rows import read_rows
from convrag_datasets.turns import Task, assemble, split_id


def read_queries(path: Path, domain: str, *, with_earlier: bool = False) -> tuple[Conversation, ...]:
    """The conversations that the queries of a file make up: those with ids `conversation<::>turn` are grouped.

    Args:
        path: the file; of a text with several `|user|: ` lines, the last is the question.
        domain: that of all conversations.
        with_earlier: whether the other lines are the conversation's earlier questions, and make turns where the file
            has no query of its own for them.

    Raises:
        DataError: a line is not what it should be, an id occurs twice, or there is no query.
    """
    conversations = assemble(_tasks(path, domain, with_earlier))
    if not conversations:
        raise DataError("this file holds no queries", path=path)
    return conversations


def _tasks(path: Path, domain: str, with_earlier: bool) -> Iterator[Task]:
    for row in read_rows(path):
        name = row.text("_id")
        *earlier, question = utterances(row.text("text"))
        if not question.strip():
            raise row.error("the question is empty")
        conversation_id, number = split_id(name) or (name, 1)
        history = tuple((text, "") for text in earlier) if with_earlier else ()
        yield Task(row, conversation_id, number, Turn(name, question), domain, history)
