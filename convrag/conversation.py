"""The state of conversations: what was said, and the working memory that stages keep between turns."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from convrag.types import Question, Turn, TurnRecord


@dataclass
class Conversation:
    """One conversation as it goes on. Hold `lock` from the question to `add`: turns follow each other."""

    id: str
    domain: str = "default"
    history: list[Turn] = field(default_factory=list)
    memory: dict[object, dict[str, Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def question(self, text: str, turn_id: str = "", *, blind: bool = False) -> Question:
        """The next question, with what was said before (or, `blind`, without)."""
        number = len(self.history) + 1
        return Question(
            text=text,
            conversation_id=self.id,
            turn_id=turn_id or f"{self.id}<::>{number}",
            domain=self.domain,
            number=number,
            history=() if blind else tuple(self.history),
            memory=self.memory,
        )

    def add(self, turn: Turn) -> None:
        """Append a finished turn. Its labels stay behind: they say what later turns must not know."""
        self.history.append(replace(turn, labels={}))


def turn_of(record: TurnRecord) -> Turn:
    """What a later turn sees of this one: the question, and the answer that was given (none where it failed)."""
    passages = tuple(item.passage for item in record.evidence.items)
    return Turn(record.turn_id, record.original_query, record.answer.text, passages)
