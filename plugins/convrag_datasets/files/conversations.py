"""Files of conversations.

A row is a conversation, as turns or as chat messages; or it is a turn or a message.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from convrag import Conversation, DataError, Passage, Turn
from convrag_datasets.files.row import Row, UniqueIds
from convrag_datasets.files.rows import Columns, read_rows
from convrag_datasets.files.turns import TurnRow, format_turn_id, group_turns, pair_messages

_TURN_FIELDS = ("id", "question", "answer", "passages")


def read_conversations(
    path: Path, domain: str, columns: Columns | None = None
) -> tuple[Conversation, ...]:
    """Read the conversations of a file, in its order.

    A row is one of these; all rows of a file are of one kind:

    * `{"id": ..., "turns": [{"question": ..., "answer": ...}]}`; a turn may have an `id` and labels
    * `{"id": ..., "messages": [{"role": "user", "content": ...}]}`
    * `{"conversation_id": ..., "question": ..., "answer": ...}`: a turn, in the order of the rows
      or of its number, `turn`; it may have an `id` and labels
    * `{"conversation_id": ..., "role": "user", "content": ...}`: a message, in the order of the
      rows

    Args:
        path: JSONL, a JSON array, CSV, TSV or Parquet.
        domain: the name of the corpus that all conversations are about.
        columns: the fields above whose columns have other names.

    Raises:
        DataError: a row does not have this form, an id occurs twice, or there is no conversation.
    """
    return make_conversations(read_rows(path, columns), domain, path)


def make_conversations(rows: Iterable[Row], domain: str, path: Path) -> tuple[Conversation, ...]:
    """Make the conversations of the rows of a file or a folder.

    Raises DataError as `read_conversations` does.
    """
    ids = UniqueIds("conversation")
    turn_ids = UniqueIds("turn")
    conversations: list[Conversation] = []
    part_rows: list[Row] = []
    for row in rows:
        if _is_part(row):
            part_rows.append(row)
            continue
        conversation = _read_conversation(row, domain)
        ids.add(conversation.id, row)
        for turn in conversation.turns:
            turn_ids.add(turn.id, row)
        conversations.append(conversation)
    if part_rows and conversations:
        raise part_rows[0].error(
            "this is one turn or message, while other rows of this file are whole conversations"
        )
    if part_rows:
        return _group_parts(part_rows, domain)
    if not conversations:
        raise DataError("this file holds no conversations", path=path)
    return tuple(conversations)


def _is_part(row: Row) -> bool:
    """Whether a row is a turn or a message, and not a whole conversation."""
    is_whole = row.has("turns") or row.has("messages")
    return not is_whole and row.has("conversation_id")


def _read_conversation(row: Row, domain: str) -> Conversation:
    conversation_id = row.require_id("id")
    if row.has("turns") and row.has("messages"):
        raise row.error("there are both 'turns' and 'messages': keep one of them")
    if row.has("messages"):
        turns = _read_messages(conversation_id, row.require_items("messages"), row)
    else:
        turns = [
            _read_turn(turn, format_turn_id(conversation_id, number))
            for number, turn in enumerate(row.require_items("turns"), 1)
        ]
    profile = tuple(statement.read_text() for statement in row.optional_items("profile"))
    return Conversation(conversation_id, tuple(turns), domain, profile)


def _read_turn(turn: Row, turn_id: str, *other_fields: str) -> Turn:
    """Read a turn with its question, answer, passages and labels, which are all other fields.

    Args:
        turn: its row.
        turn_id: its id, unless the row has an `id`.
        other_fields: fields that are not labels.
    """
    return Turn(
        id=turn.require_id("id") if turn.has("id") else turn_id,
        question=turn.require_text("question"),
        answer=turn.optional_text("answer"),
        passages=tuple(_read_passage(passage) for passage in turn.optional_items("passages")),
        labels=turn.other_fields(*_TURN_FIELDS, *other_fields),
    )


def _read_passage(row: Row) -> Passage:
    return Passage(
        row.require_id("id", "_id"),
        row.optional_text("text"),
        row.optional_text("title"),
        row.optional_text("url"),
    )


def _read_messages(conversation_id: str, messages: list[Row], row: Row) -> list[Turn]:
    turns = [
        Turn(format_turn_id(conversation_id, number), question, answer)
        for number, (question, answer) in enumerate(pair_messages(messages), 1)
    ]
    if not turns:
        raise row.error(f"no user speaks in the conversation {conversation_id!r}")
    return turns


def _group_parts(rows: list[Row], domain: str) -> tuple[Conversation, ...]:
    """Make the conversations of rows that are turns or messages."""
    are_messages = any(row.has("role") for row in rows)
    if not are_messages:
        return group_turns(_read_turn_rows(rows, domain))
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.require_id("conversation_id"), []).append(row)
    return tuple(
        Conversation(name, tuple(_read_messages(name, messages, messages[0])), domain)
        for name, messages in groups.items()
    )


def _read_turn_rows(rows: list[Row], domain: str) -> Iterator[TurnRow]:
    counts: Counter[str] = Counter()
    ids = UniqueIds("turn")
    for row in rows:
        conversation_id = row.require_id("conversation_id")
        counts[conversation_id] += 1
        number = row.require_number("turn") if row.has("turn") else counts[conversation_id]
        if number == 0:
            raise row.error("'turn' must be the number of the turn in its conversation, from 1")
        turn = _read_turn(row, format_turn_id(conversation_id, number), "conversation_id", "turn")
        labels = {name: value for name, value in turn.labels.items() if value is not None}
        ids.add(turn.id, row)
        yield TurnRow(row, conversation_id, number, replace(turn, labels=labels), domain)
