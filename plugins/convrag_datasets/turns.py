"""Files with a row for each turn: the rows become conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from convrag import Conversation, Turn
from convrag_datasets.dialogue import Exchange
from convrag_datasets.json_rows import Row

SEPARATOR = "<::>"


@dataclass(frozen=True, slots=True)
class Task:
    """A turn as a row of its own, and what that row tells of the turns before it."""

    row: Row
    conversation_id: str
    number: int
    turn: Turn
    domain: str
    earlier: tuple[Exchange, ...] = ()


def turn_id(conversation_id: str, number: int) -> str:
    """The id of a turn, counted from 1, as MTRAG writes it."""
    return f"{conversation_id}{SEPARATOR}{number}"


def split_id(name: str) -> tuple[str, int] | None:
    """Conversation and number of a turn's id `conversation<::>turn`; None where it is something else."""
    conversation_id, _, number = name.rpartition(SEPARATOR)
    return (conversation_id, int(number)) if conversation_id and number.isascii() and number.isdigit() else None


def assemble(tasks: Iterable[Task]) -> tuple[Conversation, ...]:
    """Group tasks by conversation, in order of first appearance; turns are in order of number.

    A turn that has no task, but is known from the history of a later one, is put in its place.

    Raises:
        DataError: two rows are the same turn.
    """
    groups: dict[str, dict[int, Task]] = {}
    for task in tasks:
        group = groups.setdefault(task.conversation_id, {})
        if first := group.get(task.number):
            raise task.row.error(f"the turn {task.turn.id!r} occurs twice (first in line {first.row.line})")
        group[task.number] = task
    return tuple(_conversation([group[number] for number in sorted(group)]) for group in groups.values())


def _conversation(tasks: list[Task]) -> Conversation:
    turns = {task.number: task.turn for task in tasks}
    for task in tasks:
        for number, turn in _history(task):
            turns.setdefault(number, turn)
    return Conversation(tasks[0].conversation_id, tuple(turns[number] for number in sorted(turns)), tasks[0].domain)


def _history(task: Task) -> Iterator[tuple[int, Turn]]:
    """Number the exchanges before a task backwards from it: a history that was cut at its start keeps its numbers."""
    for number, (question, answer) in zip(range(task.number - 1, 0, -1), reversed(task.earlier), strict=False):
        yield number, Turn(turn_id(task.conversation_id, number), question, answer)
