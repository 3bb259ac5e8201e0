"""Topics of TREC iKAT: conversations of users, with their personal statements (PTKB)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import Conversation, Passage, Turn
from convrag_datasets.cast_topics import find_number, format_turn
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row, with_ids


@dataclass(frozen=True)
class IkatTopic:
    """A conversation, and its resolved utterances by turn id."""

    conversation: Conversation
    resolved: dict[str, str]


def read_topics(path: Path) -> Iterator[IkatTopic]:
    """Yield the topics of a file, in the form of 2023 and 2024 or in the form of 2025.

    The statements are `ptkb` (an object by number, or a list), the turns `turns` (`utterance`, `ptkb_provenance`,
    `response_provenance`) or `responses` (`user_utterance`, `relevant_ptkbs`, `citations`). Labels of a turn:
    `personal` (yes where its answer depends on statements, else no), `statements` (those), `provenance` (the ids of
    passages).

    Raises:
        DataError: an item is no topic, a turn names a statement that is not there, or an id occurs twice.
    """
    for topic, row in with_ids(read_json_rows(path), "topic", find_number):
        yield _read_topic(row, topic)


def read_passage_texts(path: Path) -> Iterator[Passage]:
    """Yield the passages of 2023's file of provenances: `doc_id`, `passage_id`, `passage_text`. Raises DataError."""
    for name, row in with_ids(read_json_rows(path), "passage", _name_passage):
        yield Passage(name, row.get("passage_text").read_text().strip())


def _name_passage(row: Row) -> str:
    return f"{row.require_id('doc_id')}:{row.require_id('passage_id')}"


def _read_topic(node: Row, topic: str) -> IkatTopic:
    statements = _read_statements(node)
    turns: list[Turn] = []
    resolved: dict[str, str] = {}
    rows = with_ids(node.require_items("turns", "responses"), "turn", lambda each: each.require_id("turn_id"))
    for number, each in rows:
        turn_id = format_turn(topic, number)
        turns.append(_read_turn(each, turn_id, statements))
        if text := each.optional_text("resolved_utterance").strip():
            resolved[turn_id] = text
    return IkatTopic(Conversation(topic, tuple(turns), profile=tuple(statements.values())), resolved)


def _read_statements(node: Row) -> dict[str, str]:
    """The user's statements by their numbers; a list is counted from 1."""
    if not node.has("ptkb"):
        return {}
    ptkb = node.get("ptkb")
    if isinstance(ptkb.value, list):
        named = [(str(number), each) for number, each in enumerate(ptkb.read_items(), 1)]
    else:
        named = ptkb.list_fields()
    return {name: text for name, each in named if (text := each.read_text().strip())}


def _read_turn(node: Row, turn_id: str, statements: dict[str, str]) -> Turn:
    used = [_find_statement(each, statements) for each in node.optional_items("ptkb_provenance", "relevant_ptkbs")]
    labels: dict[str, Any] = {"personal": "yes" if used else "no"}
    if used:
        labels["statements"] = used
    if provenance := [each.read_id() for each in node.optional_items("response_provenance", "citations")]:
        labels["provenance"] = provenance
    question = node.require_text("utterance", "user_utterance")
    return Turn(turn_id, question, node.optional_text("response").strip(), labels=labels)


def _find_statement(node: Row, statements: dict[str, str]) -> str:
    """The statement that a turn names by its number or literally. Raises DataError where there is none."""
    name = node.read_id()
    if name in statements:
        return statements[name]
    if name in statements.values():
        return name
    raise node.error(f"the user has made no statement {name[:80]!r}: it is not in 'ptkb'")
