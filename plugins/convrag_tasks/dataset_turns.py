"""The turns of a data set by id, and rows of other people's files matched to them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple, TypeVar

from convrag import Conversation, Dataset, Turn
from convrag.sdk.jsonl import Line

T = TypeVar("T")

_SEPARATOR = "<::>"
"""MTRAG's turn ids are conversation<::>turn; its scripts also write conversation::turn."""


class DatasetTurn(NamedTuple):
    """A turn, its conversation, and its position in it, from 1; the history that is given counts too."""

    conversation: Conversation
    number: int
    turn: Turn


def read_dataset_turns(dataset: Dataset, limit: int | None = None) -> dict[str, DatasetTurn]:
    """The turns of the data set by id; with a `limit`, the turns of so many conversations."""
    return {
        turn.id: DatasetTurn(conversation, number, turn)
        for conversation in islice(dataset.conversations(), limit)
        for number, turn in enumerate(conversation.turns, 1 + len(conversation.history))
    }


def match_turns(
    rows: Mapping[str, T], lines: Mapping[str, Line], turns: Mapping[str, DatasetTurn], *, skip: bool
) -> tuple[dict[str, T], int]:
    """Give the rows of a file the turn ids of the data set.

    Args:
        rows: turn id, as the file has it -> row.
        lines: turn id -> the line where it first occurs.
        turns: of the data set.
        skip: leave out turns that the data set does not have.

    Returns:
        Turn id, as the data set has it -> row; and how many turns were left out.

    Raises:
        DataError: a turn is not in the data set, unless it may be left out; or two rows are for one turn.
    """
    matched: dict[str, T] = {}
    unknown = [turn_id for turn_id in rows if not _find_id(turn_id, turns)]
    if unknown and not skip:
        raise lines[unknown[0]].error(
            f"the data set has no turn {unknown[0]!r}; it has {len(rows) - len(unknown)} of the {len(rows)} turns of "
            "this file. Choose the data set and the domains that the file is about (dataset=..., dataset.domain=...), "
            "or leave the others out: task.unknown=skip"
        )
    for turn_id, row in rows.items():
        if known_id := _find_id(turn_id, turns):
            if known_id in matched:
                raise lines[turn_id].error(f"turn {turn_id!r} occurs twice")
            matched[known_id] = row
    return matched, len(unknown)


def _find_id(turn_id: str, turns: Mapping[str, DatasetTurn]) -> str:
    """The data set's id of a turn; empty where it has no such turn."""
    conversation_id, _, number = turn_id.rpartition("::")
    candidates = (turn_id, f"{conversation_id}{_SEPARATOR}{number}")
    return next((candidate for candidate in candidates if candidate in turns), "")
