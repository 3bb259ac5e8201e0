"""The turns of a data set by id."""

from itertools import islice
from typing import NamedTuple

from convrag import Conversation, Dataset, Turn


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
