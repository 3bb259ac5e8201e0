"""Files of conversations: JSONL, one conversation a line, as turns or as chat messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convrag import Conversation, DataError, Turn
from convrag_datasets.json_rows import JsonRow, UniqueIds, read_json_rows
from convrag_datasets.turns import format_turn_id, pair_messages


def read_conversations(path: Path, domain: str) -> tuple[Conversation, ...]:
    """The conversations of a file, in its order.

    A line is `{"id": ..., "turns": [{"question": ..., "answer": ...}]}`, where a turn may have an `id` and labels, or
    `{"id": ..., "messages": [{"role": "user", "content": ...}]}`.

    Raises:
        DataError: a line does not have this form, an id occurs twice, or there is no conversation.
    """
    conversation_ids, turn_ids = UniqueIds("conversation"), UniqueIds("turn")
    conversations = []
    for row in read_json_rows(path):
        conversation_id = row.require_text("id")
        conversation_ids.add(conversation_id, row)
        turns = tuple(_read_turns(row, conversation_id))
        if not turns:
            raise row.error(f"the conversation {conversation_id!r} has no turns")
        for turn in turns:
            turn_ids.add(turn.id, row)
        conversations.append(Conversation(conversation_id, turns, domain))
    if not conversations:
        raise DataError("this file holds no conversations", path=path)
    return tuple(conversations)


def _read_turns(row: JsonRow, conversation_id: str) -> Iterator[Turn]:
    if "turns" in row.data and "messages" in row.data:
        raise row.error("there are both 'turns' and 'messages': keep one of them")
    if "messages" in row.data:
        for number, (question, answer) in enumerate(pair_messages(row.require_rows("messages", "message")), 1):
            yield Turn(format_turn_id(conversation_id, number), question, answer)
        return
    for number, turn in enumerate(row.require_rows("turns", "turn"), 1):
        yield Turn(
            id=turn.require_text("id") if "id" in turn.data else format_turn_id(conversation_id, number),
            question=turn.require_text("question"),
            answer=turn.optional_text("answer"),
            labels=turn.other_fields("id", "question", "answer"),
        )
