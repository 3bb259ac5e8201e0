"""What the data set knows of each turn: the reference answer, the relevant passages, the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convrag import Dataset, Turn, TurnRecord
from convrag.sdk.lazy import Lazy


class References:
    """The turns of a data set by id, read at first use."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._by_id = Lazy(self._read)

    def answer(self, record: TurnRecord) -> str:
        """The reference answer to a turn; empty where there is none."""
        turn = self._by_id().get(record.turn_id)
        return turn.answer.strip() if turn else ""

    def label(self, record: TurnRecord, name: str) -> str:
        """A label of the turn in upper case, as the record has it, else as the data set has; empty where neither has.

        Args:
            record: the turn.
            name: in small letters with underscores ("question_type"), however the data set writes it.
        """
        if found := _label(record.labels, name):
            return found
        turn = self._by_id().get(record.turn_id)
        return _label(turn.labels, name) if turn else ""

    def _read(self) -> dict[str, Turn]:
        return {turn.id: turn for each in self._dataset.conversations() for turn in each.turns}


def _label(labels: Mapping[str, Any], name: str) -> str:
    for key, value in labels.items():
        if key.casefold().replace(" ", "_").replace("-", "_") == name:
            return str(value[0] if isinstance(value, list | tuple) and value else value or "").strip().upper()
    return ""
