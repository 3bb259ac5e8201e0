"""Predictions of other systems: the rankings and answers in their files, by the turns of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from convrag import DataError, Hit
from convrag_tasks.answer_files import PredictedAnswer, read_answers
from convrag_tasks.dataset_turns import DatasetTurn, match_turns
from convrag_tasks.trec_runs import read_trec_run

RANKING, ANSWER, EVIDENCE = "ranking", "answer", "evidence"


@dataclass
class Predictions:
    """What the files hold, by the data set's turn ids.

    Args:
        rankings: those of a TREC run; None without one.
        answers: those of a file of answers; None without one.
        unknown: for each file, how many of its turns the data set does not have.
    """

    rankings: Mapping[str, Sequence[Hit]] | None = None
    answers: Mapping[str, PredictedAnswer] | None = None
    unknown: dict[Path, int] = field(default_factory=dict)

    def parts_of(self, turn_id: str) -> list[str]:
        """What the files hold of a turn: its ranking (contexts are one), its answer, and the answer's evidence."""
        answer = (self.answers or {}).get(turn_id)
        contexts = answer is not None and answer.passages is not None
        ranking = contexts if self.rankings is None else turn_id in self.rankings
        evidence = answer is not None and (contexts or self.rankings is not None)
        parts = {RANKING: ranking, ANSWER: answer is not None, EVIDENCE: evidence}
        return [part for part, present in parts.items() if present]

    @property
    def parts(self) -> list[str]:
        """What the files hold of at least one turn."""
        turn_ids = {**(self.rankings or {}), **(self.answers or {})}
        present = {part for turn_id in turn_ids for part in self.parts_of(turn_id)}
        return [part for part in (RANKING, ANSWER, EVIDENCE) if part in present]


def read_predictions(
    run: Path | None, answers: Path | None, turns: Mapping[str, DatasetTurn], *, skip: bool
) -> Predictions:
    """Read the files.

    Args:
        run: a TREC run, or a folder of them.
        answers: a JSONL file of answers, or a folder of them.
        turns: those of the data set.
        skip: leave out turns that the data set does not have.

    Raises:
        DataError: a file is broken, has turns that the data set does not have, or none that it has.
    """
    predictions = Predictions()
    if run is not None:
        rankings, lines = read_trec_run(run)
        predictions.rankings, predictions.unknown[run] = match_turns(rankings, lines, turns, skip=skip)
    if answers is not None:
        texts, lines = read_answers(answers)
        predictions.answers, predictions.unknown[answers] = match_turns(texts, lines, turns, skip=skip)
    for path, rows in ((run, predictions.rankings), (answers, predictions.answers)):
        if path is not None and not rows:
            raise DataError("the data set has none of the turns of this file", path=path)
    return predictions
