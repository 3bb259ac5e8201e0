"""Conversations as JSONL, one a line, as turns or as chat messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convrag import Conversation, DataError, Turn
from convrag_datasets.dialogue import exchanges
from convrag_datasets.json_rows import Row, Unique, read_rows
from convrag_datasets.turns import turn_id


def read_conversations(path: Path, domain: str) -> tuple[Conversation, ...]:
    """The conversations of a file in its order.

    A line is `{"id": ..., "turns": [{"question": ..., "answer": ...}]}`, where a turn may have an `id` and labels, or
    `{"id": ..., "messages": [{"role": "user", "content": ...}]}`.

    Raises:
        DataError: a line is not what it should be, an id occurs twice, or there is no conversation.
    """
    conversation_ids, turn_ids = Unique("conversation id"), Unique("turn id")
    conversations = []
    for row in read_rows(path):
        name = row.text("id")
        conversation_ids.add(name, row)
        turns = tuple(_turns(row, name))
        if not turns:
            raise row.error(f"the conversation {name!r} has no turns")
        for turn in turns:
            turn_ids.add(turn.id, row)
        conversations.append(Conversation(name, turns, domain))
    if not conversations:
        raise DataError("this file holds no conversations", path=path)
    return tuple(conversations)


def _turns(row: Row, conversation_id: str) -> Iterator[Turn]:
    if "turns" in row.data and "messages" in row.data:
        raise row.error("there are both 'turns' and 'messages': keep one of them")
    if "messages" in row.data:
        for number, (question, answer) in enumerate(exchanges(row.rows("messages", "message")), 1):
            yield Turn(turn_id(conversation_id, number), question, answer)
        return
    for number, turn in enumerate(row.rows("turns", "turn"), 1):
        yield Turn(
            id=turn.text("id") if "id" in turn.data else turn_id(conversation_id, number),
            question=turn.text("question"),
            answer=turn.optional("answer"),
            labels=turn.others("id", "question", "answer"),
        )
