"""Reads a conversation's history turn by turn: continued, or begun anew for another history."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from convrag.api.conversations import Turn

R = TypeVar("R", bound="HistoryReader")


class HistoryReader(ABC):
    """Reads turns one after the other, and keeps what its stage needs (see `continue_reading`)."""

    turns: tuple[Turn, ...] = ()
    """The turns that were read, oldest first."""

    @abstractmethod
    def add(self, turn: Turn) -> None:
        """Read a turn; `turns` are those before it."""

    def update(self, history: tuple[Turn, ...]) -> bool:
        """Read the turns that are new; return False for another history than before.

        Turns that are the same objects as before are compared in no time.
        """
        if history[: len(self.turns)] != self.turns:
            return False
        for turn in history[len(self.turns) :]:
            self.add(turn)
            self.turns = (*self.turns, turn)
        return True


def continue_reading(state: dict[str, Any], history: tuple[Turn, ...], make: Callable[[], R]) -> R:
    """Return the reader of a history: that of the turn before, or a new one for another history.

        terms = continue_reading(question.state(self), question.history, Terms)

    Args:
        state: the stage's state in this conversation (`Question.state`), which keeps the reader.
        history: all turns to read.
        make: makes a reader.
    """
    reader: R | None = state.get("reader")
    if reader is None or not reader.update(history):
        reader = make()
        reader.update(history)
        state["reader"] = reader
    return reader
