"""What the data set knows of each turn: the reference answer and the labels."""

from collections.abc import Mapping
from typing import Any

from convrag import Dataset, Turn, TurnRecord
from convrag.sdk.lazy import Lazy


class References:
    """The turns of a data set by id, read when the first is looked up."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._turns = Lazy(self._read)

    def find_answer(self, record: TurnRecord) -> str:
        """The reference answer to a turn; empty where there is none."""
        turn = self._turns().get(record.turn_id)
        return turn.answer.strip() if turn else ""

    def has_answers(self) -> bool:
        """Whether any turn has a reference answer."""
        return any(turn.answer.strip() for turn in self._turns().values())

    def find_label(self, record: TurnRecord, name: str) -> str:
        """A label of the turn in upper case, from the record or else from the data set; empty where neither has it.

        Args:
            record: the turn.
            name: in lower case with underscores ("question_type"), however the data set writes it.
        """
        if found := _get_label(record.labels, name):
            return found
        turn = self._turns().get(record.turn_id)
        return _get_label(turn.labels, name) if turn else ""

    def _read(self) -> dict[str, Turn]:
        return {turn.id: turn for each in self._dataset.conversations() for turn in each.turns}


def _get_label(labels: Mapping[str, Any], name: str) -> str:
    for key, value in labels.items():
        if key.casefold().replace(" ", "_").replace("-", "_") == name:
            return str(value[0] if isinstance(value, list | tuple) and value else value or "").strip().upper()
    return ""
