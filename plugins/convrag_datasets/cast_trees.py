"""Topics of TREC CAsT 2022: trees of turns, in which each way from the first turn to a last one is a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from convrag import Conversation, Turn
from convrag_datasets.cast_topics import find_number, format_turn
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row, with_ids
from convrag_datasets.turns import pair_turns

_USER, _SYSTEM = "user", "system"


@dataclass(frozen=True)
class TreeTurn:
    """A turn of the user or the system, and the number of the turn before it; empty for the first one."""

    number: str
    parent: str
    node: Row
    is_user: bool


def read_trees(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file of topics: for each topic one for each branch, in the order of its last turns.

    A turn's question is the user's `utterance`, its answer what the system says until the user speaks again, and its
    label `provenance` the passages of that answer; its label `grounded` is `no` where there are none, since the system
    asks back, say. A branch asks the turns that no earlier branch has asked; what it shares with one is its
    history. So each turn is asked and measured once, and the answer that leads into a branch is in its history.

    Raises:
        DataError: an item is no topic; a turn occurs twice, has an unknown parent, or is its own ancestor.
    """
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        yield from _read_branches(topic, _read_tree(row), row)


def _read_tree(node: Row) -> dict[str, TreeTurn]:
    """The turns of a topic by number. Raises DataError where they do not make up a tree."""
    turns: dict[str, TreeTurn] = {}
    for number, each in with_ids(node.require_items("turn"), "turn", find_number):
        participant = each.require_text("participant").strip().casefold()
        if participant not in (_USER, _SYSTEM):
            raise each.error(f"'participant' must be User or System, not {participant!r}")
        parent = each.require_id("parent") if each.has("parent") else ""
        turns[number] = TreeTurn(number, parent, each, participant == _USER)
    for turn in turns.values():
        if turn.parent and turn.parent not in turns:
            raise turn.node.error(f"the parent {turn.parent!r} of the turn {turn.number!r} is no turn of this topic")
    _refuse_cycles(turns)
    return turns


def _refuse_cycles(turns: dict[str, TreeTurn]) -> None:
    """Raise DataError for a turn that is its own ancestor."""
    rooted: set[str] = set()
    for turn in turns.values():
        way: dict[str, None] = {}
        number = turn.number
        while number and number not in rooted:
            if number in way:
                raise turns[number].node.error(f"the turn {number!r} is its own ancestor: the parents go in a circle")
            way[number] = None
            number = turns[number].parent
        rooted.update(way)


def _read_branches(topic: str, turns: dict[str, TreeTurn], node: Row) -> Iterator[Conversation]:
    parents = {turn.parent for turn in turns.values()}
    asked: set[str] = set()
    for leaf in turns.values():
        if leaf.number in parents:
            continue
        exchanges = _read_exchanges(topic, _find_way(leaf, turns))
        new = [turn for turn in exchanges if turn.id not in asked]
        if new:
            yield Conversation(
                format_turn(topic, leaf.number), tuple(new), history=tuple(exchanges[: len(exchanges) - len(new)])
            )
        asked.update(turn.id for turn in new)
    if not asked:
        raise node.error(f"no user speaks in the topic {topic!r}")


def _find_way(leaf: TreeTurn, turns: dict[str, TreeTurn]) -> list[TreeTurn]:
    """The turns from the first one to this one."""
    way = [leaf]
    while way[-1].parent:
        way.append(turns[way[-1].parent])
    return way[::-1]


def _read_exchanges(topic: str, way: Sequence[TreeTurn]) -> list[Turn]:
    """The exchanges on a way; what a system says before the user first speaks is left out."""
    pairs = pair_turns(way, lambda turn: turn.is_user)
    return [_make_exchange(topic, question, replies) for question, replies in pairs]


def _make_exchange(topic: str, question: TreeTurn, replies: Sequence[TreeTurn]) -> Turn:
    answers = [reply.node.optional_text("response", "utterance") for reply in replies]
    provenance = [each.read_id() for reply in replies for each in reply.node.optional_items("provenance")]
    labels: dict[str, object] = {"provenance": provenance} if provenance else {}
    if replies:
        labels["grounded"] = "yes" if provenance else "no"
    return Turn(
        id=format_turn(topic, question.number),
        question=question.node.require_text("utterance", "raw_utterance"),
        answer="\n".join(filter(None, answers)),
        labels=labels,
    )
