"""Turns of conversations: their ids, the turns in chat messages, and the conversations that rows of turns make up."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from convrag import Conversation, Turn
from convrag.sdk.utterances import USER
from convrag_datasets.rows import Row

SEPARATOR = "<::>"

_USERS = {"user", "human"}
_ASSISTANTS = {"assistant", "agent", "gpt"}
_NOT_SPOKEN = {"system", "developer", "tool"}  # messages that are instructions or data, and no part of the conversation
_TEXTS = ("content", "text", "value")
_MAX_DIGITS = 18  # of a turn's number: longer ones are no numbers, and Python refuses to read very long ones

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
    domain: str
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
    """Pair each question with what is said until the next one; what is said before the first question is left out."""
    pairs: list[tuple[T, list[T]]] = []
    for each in spoken:
        if is_question(each):
            pairs.append((each, []))
        elif pairs:
            pairs[-1][1].append(each)
    return pairs


def pair_messages(messages: Iterable[Row]) -> list[Exchange]:
    """Pair the questions and answers of chat messages (see `pair_turns`).

    A message is {"role": "user", "content": "..."}, in MTRAG {"speaker": "user", "text": "..."}, in ShareGPT
    {"from": "human", "value": "..."}.

    Raises:
        DataError: a question is empty, or a role is unknown.
    """
    spoken = [(message, _read_role(message)) for message in messages]
    pairs = pair_turns([each for each in spoken if each[1] not in _NOT_SPOKEN], lambda each: each[1] in _USERS)
    return [
        (_read_question(question), "\n".join(filter(None, (reply.optional_text(*_TEXTS) for reply, _ in replies))))
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
    """Group turns by conversation, in order of first appearance; a conversation's turns are in order of number.

    A turn that has no row, but is in the history of a later one, is added in its place.

    Raises:
        DataError: two rows are the same turn.
    """
    groups: dict[str, dict[int, TurnRow]] = {}
    for each in rows:
        group = groups.setdefault(each.conversation_id, {})
        if first := group.get(each.number):
            raise each.row.error(f"the turn {each.turn.id!r} occurs twice (first in {first.row.where})")
        group[each.number] = each
    return tuple(_make_conversation([group[number] for number in sorted(group)]) for group in groups.values())


def _make_conversation(rows: list[TurnRow]) -> Conversation:
    turns = {each.number: each.turn for each in rows}
    for each in rows:
        for number, turn in _number_history(each):
            turns.setdefault(number, turn)
    return Conversation(rows[0].conversation_id, tuple(turns[number] for number in sorted(turns)), rows[0].domain)


def _number_history(each: TurnRow) -> Iterator[tuple[int, Turn]]:
    """Number the exchanges before a turn backwards from it, so that a history without its beginning is right."""
    for number, (question, answer) in zip(range(each.number - 1, 0, -1), reversed(each.history), strict=False):
        yield number, Turn(format_turn_id(each.conversation_id, number), question, answer)
