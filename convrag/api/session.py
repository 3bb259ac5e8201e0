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
    """The entry of a conversation in a list.

    `title` is its first question, cut; times are in UTC. `model` is empty unless a server has begun
    it; `configuration` is from the pipeline that has begun it (`Pipeline.configuration`).
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
    """A conversation in progress.

    Hold `lock` from `make_question` to `add_turn`, since turns must not overlap. `configuration` is
    from the pipeline that has begun it (`Pipeline.configuration`); `model` is the name that a
    server gives to that pipeline. `attempt` counts how often the last question was answered again.
    `profile` has personal statements of the user, which each question gets; a database does not
    keep them.
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
    """The number of its row in the database; None if it has none."""
    version: int = field(default=0, repr=False, compare=False)
    """The number of changes to its turns in the database, which shows changes by others."""
    dropped: bool = field(default=False, repr=False, compare=False)
    """Whether it was reset or deleted, so that a turn in progress is not added to it."""

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
        """Make the last question again, as if it had not been answered.

        It has a new stage state, since stages may keep notes on its turn.
        """
        last = self.history[-1]
        before = Session(self.id, self.domain, self.history[:-1], profile=self.profile)
        return before.make_question(last.question, last.id, hide_history=hide_history)

    def add_turn(self, turn: Turn) -> None:
        """Append a finished turn, without its labels: later turns must not see them."""
        self.history.append(replace(turn, labels={}))

    def count_characters(self) -> int:
        """Count the characters of the turns, as `count_characters`."""
        return sum(count_characters(turn) for turn in self.history)

    def take_over(self, other: Session) -> None:
        """Take the state of another session of a conversation that another process began anew."""
        own_names = ("lock", "profile", "dropped", "stage_state")
        own = {name: getattr(self, name) for name in own_names}
        vars(self).update({**vars(other), **own})
        self.stage_state.clear()

    def describe(self) -> ConversationInfo:
        """Describe the conversation for a list."""
        return ConversationInfo(
            id=self.id,
            title=make_title(self.history[0].question) if self.history else "",
            model=self.model,
            domain=self.domain,
            turns=len(self.history),
            created=self.created,
            updated=self.updated,
            configuration=self.configuration,
        )


def to_turn(record: TurnRecord) -> Turn:
    """Convert a record to a turn of the history; the answer is empty if the turn failed."""
    items = record.evidence.items
    return Turn(
        id=record.turn_id,
        question=record.original_query,
        answer=record.answer.text,
        passages=tuple(item.passage for item in items),
        shown=items,
    )


def count_characters(turn: Turn) -> int:
    """Count the characters of a turn's question and answer, and of its passages."""
    passages = sum(len(passage.content) for passage in turn.passages)
    return len(turn.question) + len(turn.answer) + passages


def make_title(question: str) -> str:
    """Make a title of a conversation's first question: one line of at most 80 characters."""
    line = " ".join(make_printable(question).split())
    if len(line) <= _LONGEST_TITLE:
        return line
    return f"{line[: _LONGEST_TITLE - 1].rstrip()}…"
