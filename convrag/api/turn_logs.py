"""What a tracker offers to those who hold conversations: it is told of each turn, from its first stage to its end."""

from __future__ import annotations

from abc import ABC, abstractmethod

from convrag.api.records import TurnRecord
from convrag.api.types import Question


class TurnLog(ABC):
    """Is told how one turn goes on, by the turn's thread: it must be quick, and raise nothing."""

    @abstractmethod
    def end_stage(self, stage: str, record: TurnRecord) -> None:
        """Called after each stage that ended well, with its group ("rewriter") and the record of the turn so far."""

    @abstractmethod
    def end_turn(self, record: TurnRecord) -> None:
        """Called once at the end, with the whole record. It has an `error` where the turn failed or was stopped."""


class ConversationLog(ABC):
    """Is told of the turns of conversations, from several threads at once."""

    @abstractmethod
    def begin_turn(self, question: Question) -> TurnLog:
        """Called before the first stage of a turn, with the history as no memory has seen it yet. Raise nothing."""

    @abstractmethod
    def flush(self, seconds: float) -> str:
        """Wait until all turns that have ended are logged, at most so many seconds.

        Returns:
            A line for the terminal (where they are logged, say); empty for none.
        """
