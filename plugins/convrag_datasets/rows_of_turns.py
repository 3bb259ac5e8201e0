"""Data sets whose files have a row for each turn, with the texts of the turns before it (`Context`)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from convrag import Conversation, Turn
from convrag_datasets.rows import Row


@dataclass(frozen=True)
class TurnNode:
    """A turn, where it belongs, and the row that it was read from."""

    conversation: str
    number: int
    turn: Turn
    node: Row


@dataclass
class _Group:
    """The turns of a conversation and the places of their rows by number, and the texts before the first of them."""

    turns: dict[int, Turn] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    first: int = -1
    context: list[str] = field(default_factory=list)


def format_row_id(conversation: str, number: int) -> str:
    """The id of a turn: "74_2"."""
    return f"{conversation}_{number}"


def group_rows(rows: Iterable[TurnNode]) -> Iterator[Conversation]:
    """Yield conversations in the order in which they first appear, their turns in the order of their numbers.

    What the first turn's `Context` (questions and answers in turn) says of turns before it becomes the history. All
    rows are read first, but only the contexts of first turns are kept.

    Raises:
        DataError: a turn occurs twice.
    """
    groups: dict[str, _Group] = {}
    for row in rows:
        group = groups.setdefault(row.conversation, _Group())
        if row.number in group.turns:
            raise row.node.error(f"the turn {row.turn.id!r} occurs twice (first in {group.places[row.number]})")
        group.turns[row.number], group.places[row.number] = row.turn, row.node.where
        if group.first < 0 or row.number < group.first:
            group.first = row.number
            group.context = [each.read_text() for each in row.node.optional_items("Context")]
    for name, group in groups.items():
        turns = tuple(group.turns[number] for number in sorted(group.turns))
        yield Conversation(name, turns, history=tuple(_read_history(name, group)))


def _read_history(name: str, group: _Group) -> Iterator[Turn]:
    answers = [*group.context[1::2], ""]
    pairs = list(zip(group.context[::2], answers, strict=False))
    for number, (question, answer) in enumerate(pairs, group.first - len(pairs)):
        yield Turn(format_row_id(name, number), question, answer)
