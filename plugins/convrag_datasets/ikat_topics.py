"""Topics of TREC iKAT: conversations of users of whom personal statements are known (PTKB)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import Conversation, DataError, Passage, Turn
from convrag_datasets.cast_topics import format_turn
from convrag_datasets.json_nodes import JsonNode, UniqueNames, read_list, read_objects


@dataclass(frozen=True)
class IkatTopic:
    """A conversation, and its resolved utterances by turn id."""

    conversation: Conversation
    resolved: dict[str, str]


def read_topics(path: Path) -> Iterator[IkatTopic]:
    """Yield the topics of a file, in the form of 2023 and 2024 or in that of 2025.

    The statements are `ptkb` (an object by number, or a list), the turns `turns` (`utterance`, `ptkb_provenance`,
    `response_provenance`) or `responses` (`user_utterance`, `relevant_ptkbs`, `citations`). Labels of a turn:
    `personal` (yes where its answer depends on statements, else no), `statements` (those), `provenance` (the ids of
    passages).

    Raises:
        DataError: an item is no topic, a turn names a statement that is not there, or an id occurs twice.
    """
    topics = UniqueNames("topic")
    for node in read_list(path):
        topic = node.require_id("number")
        topics.add(topic, node)
        yield _read_topic(node, topic)
    if not topics:
        raise DataError("this file holds no topics", path=path)


def read_passage_texts(path: Path) -> Iterator[Passage]:
    """Yield the passages of 2023's file of provenances: `doc_id`, `passage_id`, `passage_text`. Raises DataError."""
    names = UniqueNames("passage")
    for node in read_objects(path):
        passage_id = f"{node.require_id('doc_id')}:{node.require_id('passage_id')}"
        names.add(passage_id, node)
        yield Passage(passage_id, node.get("passage_text").read_text().strip())


def _read_topic(node: JsonNode, topic: str) -> IkatTopic:
    statements = _read_statements(node)
    names = UniqueNames("turn")
    turns: list[Turn] = []
    resolved: dict[str, str] = {}
    for each in node.require_items("turns", "responses"):
        turn_id = format_turn(topic, each.require_id("turn_id"))
        names.add(turn_id, each)
        turns.append(_read_turn(each, turn_id, statements))
        if text := each.optional_text("resolved_utterance").strip():
            resolved[turn_id] = text
    if not turns:
        raise node.error(f"the topic {topic!r} has no turns")
    return IkatTopic(Conversation(topic, tuple(turns), profile=tuple(statements.values())), resolved)


def _read_statements(node: JsonNode) -> dict[str, str]:
    """The user's statements by their numbers; those of a list are counted from 1."""
    if not node.has("ptkb"):
        return {}
    ptkb = node.get("ptkb")
    if ptkb.is_list():
        named = [(str(number), each) for number, each in enumerate(ptkb.read_items(), 1)]
    else:
        named = node.optional_fields("ptkb")
    return {name: text for name, each in named if (text := each.read_text().strip())}


def _read_turn(node: JsonNode, turn_id: str, statements: dict[str, str]) -> Turn:
    used = [_find_statement(each, statements) for each in node.optional_items("ptkb_provenance", "relevant_ptkbs")]
    labels: dict[str, Any] = {"personal": "yes" if used else "no"}
    if used:
        labels["statements"] = used
    if provenance := [each.read_id() for each in node.optional_items("response_provenance", "citations")]:
        labels["provenance"] = provenance
    question = node.require_text("utterance", "user_utterance")
    return Turn(turn_id, question, node.optional_text("response").strip(), labels=labels)


def _find_statement(node: JsonNode, statements: dict[str, str]) -> str:
    """The statement that a turn names by its number or literally. Raises DataError where there is none."""
    name = node.read_id()
    if name in statements:
        return statements[name]
    if name in statements.values():
        return name
    raise node.error(f"the user has made no statement {name[:80]!r}: it is not in 'ptkb'")
