"""Turns that become conversations: their ids, messages paired to turns, turns grouped."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from convrag import Conversation, Turn
from convrag.sdk.data.utterances import USER
from convrag_datasets.files.row import Row

_SEPARATOR = "<::>"
_MOST_DIGITS = 18
"""Digits of a turn's number; Python refuses to read very long numbers."""

_USERS = {"user", "human"}
_ASSISTANTS = {"assistant", "agent", "gpt"}
_NOT_SPOKEN = {"system", "developer", "tool"}
"""Roles of messages that are instructions or data, and not part of the conversation."""

_TEXT_FIELDS = ("content", "text", "value")

T = TypeVar("T")

Exchange = tuple[str, str]
"""A question and the answer to it, which may be empty."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn with a row of its own.

    Args:
        row: the row.
        conversation_id: of the turn's conversation.
        number: of the turn in its conversation.
        turn: the turn.
        domain: of its conversation.
        history: the exchanges before it, as far as the row has them.
    """

    row: Row
    conversation_id: str
    number: int
    turn: Turn
    domain: str = "default"
    history: tuple[Exchange, ...] = ()


def format_turn_id(conversation_id: str, number: int) -> str:
    """Return the id of a turn, counted from 1, as MTRAG writes it: "c1<::>2"."""
    return f"{conversation_id}{_SEPARATOR}{number}"


def split_turn_id(turn_id: str) -> tuple[str, int] | None:
    """Return conversation and number of an id `conversation<::>turn`; None for any other id."""
    conversation_id, _, number = turn_id.rpartition(_SEPARATOR)
    is_number = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    if not conversation_id or not is_number:
        return None
    return conversation_id, int(number)


def format_row_id(conversation: str, number: int) -> str:
    """Return the id of a turn as published sets write it: "74_2"."""
    return f"{conversation}_{number}"


def pair_turns(spoken: Iterable[T], is_question: Callable[[T], bool]) -> list[tuple[T, list[T]]]:
    """Pair each question with the replies until the next one.

    Replies before the first question are left out.
    """
    pairs: list[tuple[T, list[T]]] = []
    for each in spoken:
        if is_question(each):
            pairs.append((each, []))
        elif pairs:
            _, replies = pairs[-1]
            replies.append(each)
    return pairs


def pair_messages(messages: Iterable[Row]) -> list[Exchange]:
    """Pair the questions and answers of chat messages (see `pair_turns`).

    A message is {"role": "user", "content": "..."}, in MTRAG {"speaker": "user", "text": "..."}, in
    ShareGPT {"from": "human", "value": "..."}.

    Raises:
        DataError: a question is empty, or a role is unknown.
    """
    spoken = []
    for message in messages:
        role = _read_role(message)
        if role not in _NOT_SPOKEN:
            spoken.append((message, role))
    exchanges = []
    for (question, _), replies in pair_turns(spoken, lambda each: each[1] in _USERS):
        answers = [reply.optional_text(*_TEXT_FIELDS) for reply, _ in replies]
        answer = "\n".join(text for text in answers if text)
        exchanges.append((_read_question(question), answer))
    return exchanges


def _read_role(message: Row) -> str:
    role = message.require_text("role", "speaker", "from")
    if role not in _USERS | _ASSISTANTS | _NOT_SPOKEN:
        raise message.error(f"the role must be user or assistant, not {role!r}")
    return role


def _read_question(message: Row) -> str:
    question = message.require_text(*_TEXT_FIELDS).removeprefix(USER)
    if not question.strip():
        raise message.error("the question is empty")
    return question


def group_turns(rows: Iterable[TurnRow]) -> tuple[Conversation, ...]:
    """Group turns by conversation, in order of first appearance, and sort them by number.

    A turn that has no row, but is in the history of a later one, is added in its place.

    Raises:
        DataError: two rows are the same turn.
    """
    groups: dict[str, dict[int, TurnRow]] = {}
    for each in rows:
        group = groups.setdefault(each.conversation_id, {})
        first = group.get(each.number)
        if first is not None:
            raise each.row.error(
                f"the turn {each.turn.id!r} occurs twice (first in {first.row.where})"
            )
        group[each.number] = each
    return tuple(_make_conversation(_sort_by_number(group)) for group in groups.values())


def _make_conversation(rows: list[TurnRow]) -> Conversation:
    turns = {each.number: each.turn for each in rows}
    for each in rows:
        for number, turn in _number_history(each):
            turns.setdefault(number, turn)
    first = rows[0]
    return Conversation(first.conversation_id, tuple(_sort_by_number(turns)), first.domain)


def _number_history(each: TurnRow) -> Iterator[tuple[int, Turn]]:
    """Number the exchanges before a turn backwards from it.

    So the numbers are right if the beginning of the history is missing.
    """
    numbers = range(each.number - 1, 0, -1)
    for number, (question, answer) in zip(numbers, reversed(each.history), strict=False):
        yield number, Turn(format_turn_id(each.conversation_id, number), question, answer)


def group_rows(rows: Iterable[TurnRow]) -> Iterator[Conversation]:
    """Yield conversations as `group_turns` does, with the turns before the first one as history.

    Questions and answers of the history are in the `Context` of the first turn, alternately; they
    are not asked. All rows are read first, and only the contexts of first turns are kept.

    Raises:
        DataError: a turn occurs twice.
    """
    groups: dict[str, dict[int, Turn]] = {}
    contexts: dict[str, list[str]] = {}
    for each in rows:
        turns = groups.setdefault(each.conversation_id, {})
        if each.number in turns:
            raise each.row.error(f"the turn {each.turn.id!r} occurs twice")
        if not turns or each.number < min(turns):
            context = each.row.optional_items("Context")
            contexts[each.conversation_id] = [text.read_text() for text in context]
        turns[each.number] = each.turn
    for name, turns in groups.items():
        history = _make_history(name, contexts[name], first_number=min(turns))
        yield Conversation(name, tuple(_sort_by_number(turns)), history=history)


def _make_history(name: str, context: list[str], first_number: int) -> tuple[Turn, ...]:
    """Make the turns before the first one of a conversation."""
    questions, answers = context[::2], context[1::2]
    exchanges = list(zip_longest(questions, answers, fillvalue=""))
    start = first_number - len(exchanges)
    return tuple(
        Turn(format_row_id(name, number), question, answer)
        for number, (question, answer) in enumerate(exchanges, start)
    )


def _sort_by_number(group: dict[int, T]) -> list[T]:
    return [group[number] for number in sorted(group)]
