"""What a stage reads of a conversation's history, turn by turn: continued, or begun anew for
another history.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from convrag.api.conversations import Turn

R = TypeVar("R", bound="HistoryReader")


class HistoryReader(ABC):
    """Reads turns one after the other, and keeps what its stage needs of them; see
    `continue_reading`.
    """

    turns: tuple[Turn, ...] = ()
    """Those that were read, oldest first."""

    @abstractmethod
    def add(self, turn: Turn) -> None:
        """Read a turn; `turns` are those before it."""

    def update(self, history: tuple[Turn, ...]) -> bool:
        """Read the turns that are new. Return False where the history does not begin with those
        that were read.

        Turns that are the same objects as before are compared in no time.
        """
        if history[: len(self.turns)] != self.turns:
            return False
        for turn in history[len(self.turns) :]:
            self.add(turn)
            self.turns = (*self.turns, turn)
        return True


def continue_reading(state: dict[str, Any], history: tuple[Turn, ...], make: Callable[[], R]) -> R:
    """Return what has read a history: the reader of the turn before, or a new one where that has
    read another history.

        terms = continue_reading(question.state(self), question.history, Terms)

    Args:
        state: the stage's own of this conversation (`Question.state`), which keeps the reader.
        history: all turns to read.
        make: makes a reader.
    """
    reader: R | None = state.get("reader")
    if reader is None or not reader.update(history):
        reader = state["reader"] = make()
        reader.update(history)
    return reader
