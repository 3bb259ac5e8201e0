"""What files of others say about the turns of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from convrag import Conversation, DataError, Dataset, Hit, Turn
from convrag.sdk.jsonl import Line
from convrag_tasks.given_answers import GivenAnswer, read_answers
from convrag_tasks.given_rankings import read_rankings

T = TypeVar("T")

_SEPARATOR = "<::>"

RANKING, ANSWER, EVIDENCE = "ranking", "answer", "evidence"


class Asked(NamedTuple):
    """A turn of the data set and where it stands."""

    conversation: Conversation
    number: int
    turn: Turn


@dataclass
class Given:
    """What the files say, by the data set's turn ids.

    Args:
        rankings: of a run; None without one.
        answers: None without any.
        unknown: for each file, how many of its turns the data set does not have.
    """

    rankings: Mapping[str, Sequence[Hit]] | None = None
    answers: Mapping[str, GivenAnswer] | None = None
    unknown: dict[Path, int] = field(default_factory=dict)

    def kinds(self, turn_id: str) -> list[str]:
        """What can be measured of a turn: its ranking (contexts are one), its answer, and what that was given."""
        answer = (self.answers or {}).get(turn_id)
        contexts = answer is not None and answer.passages is not None
        ranked = contexts if self.rankings is None else turn_id in self.rankings
        shown = answer is not None and (contexts or self.rankings is not None)
        there = {RANKING: ranked, ANSWER: answer is not None, EVIDENCE: shown}
        return [kind for kind, known in there.items() if known]

    @property
    def measured(self) -> list[str]:
        """What can be measured of some turn."""
        found = {kind for turn_id in {**(self.rankings or {}), **(self.answers or {})} for kind in self.kinds(turn_id)}
        return [kind for kind in (RANKING, ANSWER, EVIDENCE) if kind in found]


def asked(dataset: Dataset, limit: int | None = None) -> dict[str, Asked]:
    """The turns of the data set by id, or those of its first conversations."""
    return {
        turn.id: Asked(conversation, number, turn)
        for conversation in islice(dataset.conversations(), limit)
        for number, turn in enumerate(conversation.turns, 1)
    }


def read_given(run: Path | None, answers: Path | None, turns: Mapping[str, Asked], *, skip: bool) -> Given:
    """Read the files.

    Args:
        run: a TREC run.
        answers: a file of answers.
        turns: those of the data set.
        skip: leave out turns that the data set does not have.

    Raises:
        DataError: a file is broken, has turns that the data set does not have, or none that it has.
    """
    given = Given()
    if run is not None:
        rankings, places = read_rankings(run)
        given.rankings, given.unknown[run] = _known(rankings, places, turns, skip)
    if answers is not None:
        texts, places = read_answers(answers)
        given.answers, given.unknown[answers] = _known(texts, places, turns, skip)
    for path, rows in ((run, given.rankings), (answers, given.answers)):
        if path is not None and not rows:
            raise DataError("the data set has none of the turns of this file", path=path)
    return given


def _known(
    rows: Mapping[str, T], places: Mapping[str, Line], turns: Mapping[str, Asked], skip: bool
) -> tuple[dict[str, T], int]:
    """Rows by the data set's ids (MTRAG's scripts also write conversation::turn), and how many it does not know.

    Raises DataError for those, unless they are to be skipped; and for two rows of one turn.
    """
    known: dict[str, T] = {}
    unknown = [turn_id for turn_id in rows if not _named(turn_id, turns)]
    if unknown and not skip:
        raise places[unknown[0]].error(
            f"the data set has no turn {unknown[0]!r}; it has {len(rows) - len(unknown)} of the {len(rows)} turns of "
            "this file. Choose the data set and the domains that the file is about (dataset=..., dataset.domain=...), "
            "or leave the others out: task.unknown=skip"
        )
    for turn_id, row in rows.items():
        if name := _named(turn_id, turns):
            if name in known:
                raise places[turn_id].error(f"turn {turn_id!r} occurs twice")
            known[name] = row
    return known, len(unknown)


def _named(turn_id: str, turns: Mapping[str, Asked]) -> str:
    conversation_id, _, number = turn_id.rpartition("::")
    written = (turn_id, f"{conversation_id}{_SEPARATOR}{number}")
    return next((name for name in written if name in turns), "")
