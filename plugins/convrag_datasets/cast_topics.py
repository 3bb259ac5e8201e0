"""Topics of TREC CAsT 2019 to 2021: lists of a user's utterances. Those of 2022 are trees (cast_trees)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from convrag import Conversation, Passage, Turn
from convrag.sdk.jsonl import read_lines
from convrag_datasets.row_files import read_json_rows
from convrag_datasets.rows import Row, with_ids

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
