"""What a tracker offers to those who hold conversations: it is told of each turn, from its first stage to its end."""

from __future__ import annotations

from abc import ABC, abstractmethod

from convrag.api.records import TurnRecord
from convrag.api.types import Question


class TurnLog(ABC):
    """Is told how one turn goes on, by the turn's thread: it must be quick, and raise nothing.

    Example:
        >>> class StageNames(TurnLog):
        ...     def __init__(self):
        ...         self.stages = []
        ...
        ...     def end_stage(self, stage, record):
        ...         self.stages.append(stage)
        ...
        ...     def end_turn(self, record):
        ...         print(record.original_query, self.stages)
        >>> log, record = StageNames(), TurnRecord("tea", "tea<::>1", "default", 1, "Why does a kettle whistle?")
        >>> log.end_stage("rewriter", record)
        >>> log.end_turn(record)
        Why does a kettle whistle? ['rewriter']
    """

    @abstractmethod
    def end_stage(self, stage: str, record: TurnRecord) -> None:
        """Called after each stage that ended well, with its group ("rewriter") and the record of the turn so far."""

    @abstractmethod
    def end_turn(self, record: TurnRecord) -> None:
        """Called once at the end, with the whole record. It has an `error` where the turn failed or was stopped."""


class ConversationLog(ABC):
    """Is told of the turns of conversations, from several threads at once.

    Example:
        >>> class Questions(TurnLog, ConversationLog):
        ...     def begin_turn(self, question):
        ...         print(question.text)
        ...         return self
        ...
        ...     def end_stage(self, stage, record): ...
        ...
        ...     def end_turn(self, record): ...
        ...
        ...     def flush(self, seconds):
        ...         return "All questions are printed."
        >>> turn = Questions().begin_turn(Question("Why?", "tea", "tea<::>1", "default", 1))
        Why?
    """

    @abstractmethod
    def begin_turn(self, question: Question) -> TurnLog:
        """Called before the first stage of a turn, with the history as no memory has seen it yet. Raise nothing."""

    @abstractmethod
    def flush(self, seconds: float) -> str:
        """Wait until all turns that have ended are logged, at most so many seconds.

        Returns:
            A line for the terminal (where they are logged, say); empty for none.
        """
