"""Topics of TREC CAsT: lists of utterances until 2021; in 2022 trees, each branch of which is a conversation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import Conversation, Passage, Turn
from convrag.sdk.jsonl import read_lines
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row, with_ids
from convrag_datasets.turns import pair_turns

MANUAL, AUTOMATIC = "manual", "automatic"
_CANONICAL = "canonical_result_id"


def format_turn(topic: str, number: str) -> str:
    """The id of a turn as CAsT's qrels have it: "31_1", "132_1-3"."""
    return f"{topic}_{number}"


def read_topics(path: Path, canonical: str) -> Iterator[Conversation]:
    """Yield the conversations of a file of 2019, 2020 or 2021.

    A turn's `raw_utterance` is the question. 2021 has the canonical `passage` of each turn, which was shown as the
    answer, and is the turn's answer and its only passage ("MARCO_D59865-7": document and number of the passage). 2020
    has the id alone, which becomes the label `provenance`; 2019 has none.

    Args:
        path: a JSON list of topics.
        canonical: "manual" or "automatic": which canonical results of 2020 are taken.

    Raises:
        DataError: an item is no topic, or a topic or a turn occurs twice.
    """
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        turns = with_ids(row.require_items("turn"), "turn", find_number)
        yield Conversation(
            topic, tuple(_read_turn(each, format_turn(topic, number), canonical) for number, each in turns)
        )


def find_number(row: Row) -> str:
    """The number of a topic or of a turn, which is its id."""
    return row.require_id("number")


def read_field(path: Path, field: str) -> dict[str, str]:
    """Turn id -> the text of a field ("manual_rewritten_utterance") of each turn that has it. Raises DataError."""
    return {
        format_turn(node.require_id("number"), each.require_id("number")): each.optional_text(field)
        for node in read_json_rows(path)
        for each in node.require_items("turn")
        if each.has(field)
    }


def read_resolved(path: Path) -> Mapping[str, str]:
    """Turn id -> resolved utterance, of the table of 2019. Raises DataError where a line is no id, tab and text."""
    resolved: dict[str, str] = {}
    for line in read_lines(path):
        turn_id, tab, text = line.text.partition("\t")
        if not tab or not turn_id.strip() or not text.strip():
            raise line.error("there must be a turn's id and its resolved utterance, with a tab between them")
        if turn_id.strip() in resolved:
            raise line.error(f"the turn {turn_id.strip()!r} occurs twice")
        resolved[turn_id.strip()] = text.strip()
    return resolved


def _read_turn(node: Row, turn_id: str, canonical: str) -> Turn:
    question = node.require_text("raw_utterance")
    result = node.require_id(field) if (field := _find_result(node, canonical)) else ""
    if node.has("passage"):
        text = node.optional_text("passage")
        passage_id = f"{result}-{node.require_number('passage_id')}" if node.has("passage_id") else result
        if not passage_id:
            raise node.error(f"there is a 'passage', but no {_CANONICAL!r}")
        passage = Passage(passage_id, text, metadata={"result": result} if result else {})
        return Turn(turn_id, question, text, (passage,), {"provenance": [passage_id]})
    labels: dict[str, Any] = {"provenance": [result]} if result else {}
    return Turn(turn_id, question, labels=labels)


def _find_result(node: Row, canonical: str) -> str:
    """The field with the canonical result; empty where there is none."""
    return next((name for name in (f"{canonical}_{_CANONICAL}", _CANONICAL) if node.has(name)), "")


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
        DataError: an item is no topic; a turn occurs twice, or has an unknown parent.
    """
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        yield from _read_branches(topic, _read_tree(row), row)


def _read_tree(node: Row) -> dict[str, TreeTurn]:
    """The turns of a topic by number. Raises DataError."""
    turns: dict[str, TreeTurn] = {}
    for number, each in with_ids(node.require_items("turn"), "turn", find_number):
        participant = each.require_text("participant").strip().casefold()
        if participant not in (_USER, _SYSTEM):
            raise each.error(f"'participant' must be User or System, not {participant!r}")
        parent = each.require_id("parent") if each.has("parent") else ""
        turns[number] = TreeTurn(number, parent, each, participant == _USER)
    return turns


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
    while parent := way[-1].parent:
        if parent not in turns:
            raise way[-1].node.error(f"the parent {parent!r} of the turn {way[-1].number!r} is no turn of this topic")
        way.append(turns[parent])
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
