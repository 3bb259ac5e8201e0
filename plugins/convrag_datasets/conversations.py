"""Files of conversations: a conversation a row, as turns or as chat messages; or a turn or a message a row."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from convrag import Conversation, DataError, Passage, Turn
from convrag.sdk.utterances import split_utterances
from convrag_datasets.row_files import Columns, read_rows
from convrag_datasets.rows import Row, UniqueIds
from convrag_datasets.turns import TurnRow, format_turn_id, group_turns, pair_messages, split_turn_id

_TURN_FIELDS = ("id", "question", "answer", "passages")


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
        domain: the name of the corpus that all conversations are about.
        columns: the fields above whose columns have other names.

    Raises:
        DataError: a row does not have this form, an id occurs twice, or there is no conversation.
    """
    return make_conversations(read_rows(path, columns), domain, path)


def make_conversations(rows: Iterable[Row], domain: str, path: Path) -> tuple[Conversation, ...]:
    """The conversations of rows, of a file or a folder. Raises DataError as `read_conversations` does."""
    ids, turn_ids = UniqueIds("conversation"), UniqueIds("turn")
    conversations: list[Conversation] = []
    turns: list[Row] = []
    for row in rows:
        if not row.has("turns") and not row.has("messages") and row.has("conversation_id"):
            turns.append(row)
            continue
        conversation = _read_conversation(row, domain)
        ids.add(conversation.id, row)
        for turn in conversation.turns:
            turn_ids.add(turn.id, row)
        conversations.append(conversation)
    if turns and conversations:
        raise turns[0].error("this is one turn or message, while other rows of this file are whole conversations")
    if not turns and not conversations:
        raise DataError("this file holds no conversations", path=path)
    return _group_rows(turns, domain) if turns else tuple(conversations)


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
    """A turn with its question, answer, passages and labels, which are all other fields.

    Args:
        turn: its row.
        turn_id: its id, unless the row has an `id`.
        other_fields: those that are no labels.
    """
    return Turn(
        id=turn.require_id("id") if turn.has("id") else turn_id,
        question=turn.require_text("question"),
        answer=turn.optional_text("answer"),
        passages=tuple(map(_read_passage, turn.optional_items("passages"))),
        labels=turn.other_fields(*_TURN_FIELDS, *other_fields),
    )


def _read_messages(conversation_id: str, messages: list[Row], row: Row) -> list[Turn]:
    exchanges = enumerate(pair_messages(messages), 1)
    turns = [Turn(format_turn_id(conversation_id, number), *exchange) for number, exchange in exchanges]
    if not turns:
        raise row.error(f"no user speaks in the conversation {conversation_id!r}")
    return turns


def _group_rows(rows: list[Row], domain: str) -> tuple[Conversation, ...]:
    """The conversations of rows that are turns or messages."""
    if not any(row.has("role") for row in rows):
        return group_turns(_read_turn_rows(rows, domain))
    messages: dict[str, list[Row]] = {}
    for row in rows:
        messages.setdefault(row.require_id("conversation_id"), []).append(row)
    return tuple(
        Conversation(name, tuple(_read_messages(name, each, each[0])), domain) for name, each in messages.items()
    )


def _read_turn_rows(rows: list[Row], domain: str) -> Iterator[TurnRow]:
    counts: Counter[str] = Counter()
    ids = UniqueIds("turn")
    for row in rows:
        conversation_id = row.require_id("conversation_id")
        counts[conversation_id] += 1
        number = row.require_number("turn") if row.has("turn") else counts[conversation_id]
        if not number:
            raise row.error("'turn' must be the number of the turn in its conversation, from 1")
        turn = _read_turn(row, format_turn_id(conversation_id, number), "conversation_id", "turn")
        turn = replace(turn, labels={name: value for name, value in turn.labels.items() if value is not None})
        ids.add(turn.id, row)
        yield TurnRow(row, conversation_id, number, turn, domain)


def _read_passage(row: Row) -> Passage:
    return Passage(
        row.require_id("id", "_id"), row.optional_text("text"), row.optional_text("title"), row.optional_text("url")
    )


def read_queries(
    path: Path, domain: str, columns: Columns | None = None, *, with_history: bool = False
) -> tuple[Conversation, ...]:
    """The conversations of a file of queries: those with ids `conversation<::>turn` are grouped, others stand alone.

    Args:
        path: the file; of a text with several `|user|: ` lines, the last is the question.
        domain: the name of the corpus that all conversations are about.
        columns: the fields `id` and `text` whose columns have other names.
        with_history: whether the other lines are the conversation's earlier questions, and become turns where the file
            has no query of its own for them.

    Raises:
        DataError: a line has no id or question, an id occurs twice, or there is no query.
    """
    conversations = group_turns(_read_turns(read_rows(path, columns), domain, with_history))
    if not conversations:
        raise DataError("this file holds no queries", path=path)
    return conversations


def _read_turns(rows: Iterable[Row], domain: str, with_history: bool) -> Iterator[TurnRow]:
    for row in rows:
        turn_id = row.require_id("_id", "id")
        *earlier, question = split_utterances(row.require_text("text"))
        if not question.strip():
            raise row.error("the question is empty")
        conversation_id, number = split_turn_id(turn_id) or (turn_id, 1)
        history = tuple((text, "") for text in earlier) if with_history else ()
        yield TurnRow(row, conversation_id, number, Turn(turn_id, question), domain, history)
