"""Files of conversations: a conversation a row, as turns or as chat messages; or a turn or a message a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from convrag import Conversation, DataError, Passage, Turn
from convrag_datasets.json_rows import JsonRow, UniqueIds
from convrag_datasets.row_files import Columns, read_rows
from convrag_datasets.turns import TurnRow, format_turn_id, group_turns, pair_messages

_TURN_FIELDS = ("id", "question", "answer", "passages")
_MAX_DIGITS = 18


def read_conversations(path: Path, domain: str, columns: Columns | None = None) -> tuple[Conversation, ...]:
    """The conversations of a file, in its order.

    A row is one of these; all rows of a file are of one kind:

    * `{"id": ..., "turns": [{"question": ..., "answer": ...}]}`; a turn may have an `id` and labels
    * `{"id": ..., "messages": [{"role": "user", "content": ...}]}`
    * `{"conversation_id": ..., "question": ..., "answer": ...}`: a turn, in the order of the rows or of its number,
      `turn`; it may have an `id` and labels
    * `{"conversation_id": ..., "role": "user", "content": ...}`: a message, in the order of the rows

    Args:
        path: JSONL, a JSON array, CSV, TSV or Parquet.
        domain: that of all conversations.
        columns: those of the fields above that have other names.

    Raises:
        DataError: a row does not have this form, an id occurs twice, or there is no conversation.
    """
    return make_conversations(read_rows(path, columns), domain, path)


def make_conversations(rows: Iterable[JsonRow], domain: str, path: Path) -> tuple[Conversation, ...]:
    """The conversations of rows, of a file or a folder. Raises DataError as `read_conversations` does."""
    ids, turn_ids = UniqueIds("conversation"), UniqueIds("turn")
    conversations: list[Conversation] = []
    turns: list[JsonRow] = []
    for row in rows:
        if "turns" not in row.data and "messages" not in row.data and "conversation_id" in row.data:
            turns.append(row)
            continue
        conversation = _read_conversation(row, domain)
        ids.add(conversation.id, row)
        for turn in conversation.turns:
            turn_ids.add(turn.id, row)
        conversations.append(conversation)
    if turns and conversations:
        raise turns[0].error("this is one turn or message, while other rows of this file are whole conversations")
    if turns:
        return _group_rows(turns, domain)
    if not conversations:
        raise DataError("this file holds no conversations", path=path)
    return tuple(conversations)


def read_turn(turn: JsonRow, turn_id: str, *other_fields: str) -> Turn:
    """A turn with its question, answer, passages and labels, which are all other fields that have a value.

    Args:
        turn: its row.
        turn_id: its id, unless the row has an `id`.
        other_fields: those that are no labels.
    """
    labels = turn.other_fields(*_TURN_FIELDS, *other_fields)
    return Turn(
        id=turn.require_id("id") if "id" in turn.data else turn_id,
        question=turn.require_text("question"),
        answer=turn.optional_text("answer"),
        passages=tuple(_read_passage(passage) for passage in turn.optional_rows("passages", "passage")),
        labels=labels,
    )


def _read_conversation(row: JsonRow, domain: str) -> Conversation:
    conversation_id = row.require_id("id")
    if "turns" in row.data and "messages" in row.data:
        raise row.error("there are both 'turns' and 'messages': keep one of them")
    if "messages" in row.data:
        exchanges = pair_messages(row.require_rows("messages", "message"))
        turns = _number_exchanges(conversation_id, exchanges)
    else:
        rows = row.require_rows("turns", "turn")
        turns = [read_turn(turn, format_turn_id(conversation_id, number)) for number, turn in enumerate(rows, 1)]
    if not turns:
        raise row.error(f"the conversation {conversation_id!r} has no turns")
    return Conversation(conversation_id, tuple(turns), domain, _read_profile(row))


def _read_profile(row: JsonRow) -> tuple[str, ...]:
    """Personal statements of the user, a list of texts; none where there is no such field."""
    given = row.data.get("profile") or []
    if not isinstance(given, list) or not all(isinstance(statement, str) for statement in given):
        raise row.error("'profile' must be a list of strings, the user's personal statements")
    return tuple(given)


def _group_rows(rows: list[JsonRow], domain: str) -> tuple[Conversation, ...]:
    """The conversations of rows that are turns or messages."""
    if not any("role" in row.data for row in rows):
        return group_turns(_read_turn_rows(rows, domain))
    messages: dict[str, list[JsonRow]] = {}
    for row in rows:
        messages.setdefault(row.require_id("conversation_id"), []).append(row)
    conversations = []
    for conversation_id, each in messages.items():
        turns = _number_exchanges(conversation_id, pair_messages(each))
        if not turns:
            raise each[0].error(f"the conversation {conversation_id!r} has no turns")
        conversations.append(Conversation(conversation_id, tuple(turns), domain))
    return tuple(conversations)


def _read_turn_rows(rows: list[JsonRow], domain: str) -> Iterator[TurnRow]:
    counts: dict[str, int] = {}
    ids = UniqueIds("turn")
    for row in rows:
        conversation_id = row.require_id("conversation_id")
        counts[conversation_id] = counts.get(conversation_id, 0) + 1
        number = _read_number(row, counts[conversation_id])
        turn = read_turn(row, format_turn_id(conversation_id, number), "conversation_id", "turn")
        turn = replace(turn, labels={name: value for name, value in turn.labels.items() if value is not None})
        ids.add(turn.id, row)
        yield TurnRow(row, conversation_id, number, turn, domain)


def _read_number(row: JsonRow, default: int) -> int:
    given: Any = row.data.get("turn")
    if given is None:
        return default
    text = str(given) if isinstance(given, int | str) and not isinstance(given, bool) else ""
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS and int(text)):
        raise row.error("'turn' must be the number of the turn in its conversation, from 1")
    return int(text)


def _number_exchanges(conversation_id: str, exchanges: Iterable[tuple[str, str]]) -> list[Turn]:
    return [
        Turn(format_turn_id(conversation_id, number), question, answer)
        for number, (question, answer) in enumerate(exchanges, 1)
    ]


def _read_passage(row: JsonRow) -> Passage:
    return Passage(
        row.require_id("id", "_id"), row.optional_text("text"), row.optional_text("title"), row.optional_text("url")
    )
