"""The state of one conversation: its turns, and the data that stages keep between turns."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from convrag.api.conversations import Question, Turn
from convrag.api.printable import make_printable
from convrag.api.records import TurnRecord

_LONGEST_TITLE = 80  # characters


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """What a list of conversations says of one.

    `title` is its first question, cut; times are in UTC. `model` is empty where no server has begun
    it; `configuration` belongs to the pipeline that has begun it (`Pipeline.configuration`).
    """

    id: str
    title: str
    model: str
    domain: str
    turns: int
    created: datetime
    updated: datetime
    configuration: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass
class Session:
    """A conversation in progress. Hold `lock` from `make_question` to `add_turn`, since turns must not overlap.

    `configuration` belongs to the pipeline that has begun it (`Pipeline.configuration`); `model` is
    the name that a server gives to that pipeline. `attempt` counts how often the last question was
    answered again. `profile` are personal statements of the user, which each question gets; a
    database does not keep them.
    """

    id: str
    domain: str = "default"
    history: list[Turn] = field(default_factory=list)
    stage_state: dict[object, dict[str, Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    model: str = ""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0
    profile: tuple[str, ...] = ()
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated: datetime = field(default_factory=lambda: datetime.now(UTC))
    number: int | None = field(default=None, repr=False, compare=False)
    """Of its row in the database; None for one that is not there."""
    version: int = field(default=0, repr=False, compare=False)
    """Counts the changes of its turns in the database, so that those by other processes are
    noticed.
    """
    dropped: bool = field(default=False, repr=False, compare=False)
    """Whether it was reset or deleted, so that a turn in progress cannot be added to it any more.
    """

    def make_question(
        self, text: str, turn_id: str = "", *, hide_history: bool = False
    ) -> Question:
        """Make the next question, with the history unless it is hidden."""
        number = len(self.history) + 1
        return Question(
            text=text,
            conversation_id=self.id,
            turn_id=turn_id or f"{self.id}<::>{number}",
            domain=self.domain,
            number=number,
            history=() if hide_history else tuple(self.history),
            profile=self.profile,
            stage_state=self.stage_state,
        )

    def make_last_question(self, *, hide_history: bool = False) -> Question:
        """Make the last question again, as if it had not been answered: stages may keep notes on
        the turn.
        """
        last, before = (
            self.history[-1],
            Session(self.id, self.domain, self.history[:-1], profile=self.profile),
        )
        return before.make_question(last.question, last.id, hide_history=hide_history)

    def add_turn(self, turn: Turn) -> None:
        """Append a finished turn, without its labels: later turns must not see them."""
        self.history.append(replace(turn, labels={}))

    def take_over(self, other: Session) -> None:
        """Become what another session of the same conversation is: another process has begun it
        anew.
        """
        kept = {name: getattr(self, name) for name in ("lock", "profile", "dropped", "stage_state")}
        vars(self).update({**vars(other), **kept})
        self.stage_state.clear()

    def describe(self) -> ConversationInfo:
        """Describe the conversation for a list."""
        title, turns = (
            make_title(self.history[0].question) if self.history else "",
            len(self.history),
        )
        place, times = (self.model, self.domain), (self.created, self.updated)
        return ConversationInfo(self.id, title, *place, turns, *times, self.configuration)


def to_turn(record: TurnRecord) -> Turn:
    """Convert a record to a turn of the history: the question with the generated answer, empty if
    the turn failed.
    """
    passages = tuple(item.passage for item in record.evidence.items)
    return Turn(
        record.turn_id,
        record.original_query,
        record.answer.text,
        passages,
        shown=record.evidence.items,
    )


def make_title(question: str) -> str:
    """Make a title of a conversation's first question: a line without control characters, cut at 80
    characters.
    """
    line = " ".join(make_printable(question).split())
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1].rstrip()}…"
