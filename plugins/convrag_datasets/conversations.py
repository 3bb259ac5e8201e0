"""Files of conversations: a conversation a row, as turns or as chat messages; or a turn or a
message a row.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from convrag import Conversation, DataError, Passage, Turn
from convrag.sdk.data.utterances import USER, split_utterances
from convrag_datasets.row_files import Columns, read_rows
from convrag_datasets.rows import Row, UniqueIds

SEPARATOR = "<::>"

_USERS = {"user", "human"}
_ASSISTANTS = {"assistant", "agent", "gpt"}
_NOT_SPOKEN = {
    "system",
    "developer",
    "tool",
}  # messages that are instructions or data, and no part of the conversation
_TEXTS = ("content", "text", "value")
_MAX_DIGITS = (
    18  # of a turn's number: longer ones are no numbers, and Python refuses to read very long ones
)

T = TypeVar("T")

Exchange = tuple[str, str]
"""A question and the answer to it, which may be empty."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn with a row of its own, and the exchanges before it as far as the row holds them."""

    row: Row
    conversation_id: str
    number: int
    turn: Turn
    domain: str = "default"
    history: tuple[Exchange, ...] = ()


def format_turn_id(conversation_id: str, number: int) -> str:
    """The id of a turn, counted from 1, as MTRAG writes it."""
    return f"{conversation_id}{SEPARATOR}{number}"


def split_turn_id(turn_id: str) -> tuple[str, int] | None:
    """Conversation and number of an id `conversation<::>turn`; None where it is of another form."""
    conversation_id, _, number = turn_id.rpartition(SEPARATOR)
    is_number = number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS
    return (conversation_id, int(number)) if conversation_id and is_number else None


def pair_turns(spoken: Iterable[T], is_question: Callable[[T], bool]) -> list[tuple[T, list[T]]]:
    """Pair each question with what is said until the next one; what is said before the first
    question is left out.
    """
    pairs: list[tuple[T, list[T]]] = []
    for each in spoken:
        if is_question(each):
            pairs.append((each, []))
        elif pairs:
            pairs[-1][1].append(each)
    return pairs


def pair_messages(messages: Iterable[Row]) -> list[Exchange]:
    """Pair the questions and answers of chat messages (see `pair_turns`).

    A message is {"role": "user", "content": "..."}, in MTRAG {"speaker": "user", "text": "..."}, in
    ShareGPT {"from": "human", "value": "..."}.

    Raises:
        DataError: a question is empty, or a role is unknown.
    """
    spoken = [(message, _read_role(message)) for message in messages]
    pairs = pair_turns(
        [each for each in spoken if each[1] not in _NOT_SPOKEN], lambda each: each[1] in _USERS
    )
    return [
        (
            _read_question(question),
            "\n".join(filter(None, (reply.optional_text(*_TEXTS) for reply, _ in replies))),
        )
        for (question, _), replies in pairs
    ]


def _read_role(message: Row) -> str:
    role = message.require_text("role", "speaker", "from")
    if role not in _USERS | _ASSISTANTS | _NOT_SPOKEN:
        raise message.error(f"the role must be user or assistant, not {role!r}")
    return role


def _read_question(message: Row) -> str:
    question = message.require_text(*_TEXTS).removeprefix(USER)
    if not question.strip():
        raise message.error("the question is empty")
    return question


def group_turns(rows: Iterable[TurnRow]) -> tuple[Conversation, ...]:
    """Group turns by conversation, in order of first appearance; a conversation's turns are in
    order of number.

    A turn that has no row, but is in the history of a later one, is added in its place.

    Raises:
        DataError: two rows are the same turn.
    """
    groups: dict[str, dict[int, TurnRow]] = {}
    for each in rows:
        group = groups.setdefault(each.conversation_id, {})
        if first := group.get(each.number):
            raise each.row.error(
                f"the turn {each.turn.id!r} occurs twice (first in {first.row.where})"
            )
        group[each.number] = each
    return tuple(
        _make_conversation([group[number] for number in sorted(group)]) for group in groups.values()
    )


def format_row_id(conversation: str, number: int) -> str:
    """The id of a turn as published sets write it: "74_2"."""
    return f"{conversation}_{number}"


def group_rows(rows: Iterable[TurnRow]) -> Iterator[Conversation]:
    """Yield conversations as `group_turns` does; what comes before the first turn's is their
    history, and not asked.

    It is in the first turn's `Context`, questions and answers in turn. All rows are read first, and
    only the contexts of first turns are kept.

    Raises:
        DataError: a turn occurs twice.
    """
    groups: dict[str, dict[int, Turn]] = {}
    contexts: dict[str, list[str]] = {}
    for each in rows:
        turns = groups.setdefault(each.conversation_id, {})
        if each.number in turns:
            raise each.row.error(f"the turn {each.turn.id!r} occurs twice")
        if all(each.number < number for number in turns):
            contexts[each.conversation_id] = [
                text.read_text() for text in each.row.optional_items("Context")
            ]
        turns[each.number] = each.turn
    for name, turns in groups.items():
        pairs = list(zip_longest(contexts[name][::2], contexts[name][1::2], fillvalue=""))
        first = min(turns) - len(pairs)
        history = (
            Turn(format_row_id(name, number), *pair) for number, pair in enumerate(pairs, first)
        )
        yield Conversation(
            name, tuple(turns[number] for number in sorted(turns)), history=tuple(history)
        )


def _make_conversation(rows: list[TurnRow]) -> Conversation:
    turns = {each.number: each.turn for each in rows}
    for each in rows:
        for number, turn in _number_history(each):
            turns.setdefault(number, turn)
    return Conversation(
        rows[0].conversation_id, tuple(turns[number] for number in sorted(turns)), rows[0].domain
    )


def _number_history(each: TurnRow) -> Iterator[tuple[int, Turn]]:
    """Number the exchanges before a turn backwards from it, so that a history without its beginning
    is right.
    """
    for number, (question, answer) in zip(
        range(each.number - 1, 0, -1), reversed(each.history), strict=False
    ):
        yield number, Turn(format_turn_id(each.conversation_id, number), question, answer)


_TURN_FIELDS = ("id", "question", "answer", "passages")


def read_conversations(
    path: Path, domain: str, columns: Columns | None = None
) -> tuple[Conversation, ...]:
    """The conversations of a file, in its order.

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
    """The conversations of rows, of a file or a folder. Raises DataError as `read_conversations`
    does.
    """
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
        raise turns[0].error(
            "this is one turn or message, while other rows of this file are whole conversations"
        )
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
    turns = [
        Turn(format_turn_id(conversation_id, number), *exchange) for number, exchange in exchanges
    ]
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
        Conversation(name, tuple(_read_messages(name, each, each[0])), domain)
        for name, each in messages.items()
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
        turn = replace(
            turn, labels={name: value for name, value in turn.labels.items() if value is not None}
        )
        ids.add(turn.id, row)
        yield TurnRow(row, conversation_id, number, turn, domain)


def _read_passage(row: Row) -> Passage:
    return Passage(
        row.require_id("id", "_id"),
        row.optional_text("text"),
        row.optional_text("title"),
        row.optional_text("url"),
    )


def read_queries(
    path: Path, domain: str, columns: Columns | None = None, *, with_history: bool = False
) -> tuple[Conversation, ...]:
    """The conversations of a file of queries: those with ids `conversation<::>turn` are grouped,
    others stand alone.

    Args:
        path: the file; of a text with several `|user|: ` lines, the last is the question.
        domain: the name of the corpus that all conversations are about.
        columns: the fields `id` and `text` whose columns have other names.
        with_history: whether the other lines are the conversation's earlier questions, and become
            turns where the file has no query of its own for them.

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
