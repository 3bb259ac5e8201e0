"""Predictions of other systems, matched with the turns of a data set."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from convrag import DataError, Hit
from convrag.sdk.data.jsonl import Line
from convrag_tasks.prediction_files import PredictedAnswer, read_answers, read_trec_run
from convrag_tasks.run_records import DatasetTurn

RANKING, ANSWER, EVIDENCE = "ranking", "answer", "evidence"

T = TypeVar("T")


@dataclass
class Predictions:
    """The rankings and answers in the files, by the data set's turn ids.

    Args:
        rankings: the rankings of a TREC run; None without one.
        answers: the answers of a file; None without one.
        unknown: for each file, how many of its turns the data set does not have.
        lines: turn id -> the line that has its answer.
    """

    rankings: Mapping[str, Sequence[Hit]] | None = None
    answers: Mapping[str, PredictedAnswer] | None = None
    unknown: dict[Path, int] = field(default_factory=dict)
    lines: Mapping[str, Line] = field(default_factory=dict)

    def get_ranking(self, turn_id: str) -> Sequence[Hit]:
        """Return the ranking of a turn in the run; empty without one."""
        return self.rankings.get(turn_id, ()) if self.rankings else ()

    def get_answer(self, turn_id: str) -> PredictedAnswer | None:
        """Return the answer of a turn."""
        return self.answers.get(turn_id) if self.answers else None

    def parts_of(self, turn_id: str) -> list[str]:
        """List the parts of a turn in the files: its ranking, its answer, the answer's evidence.

        The contexts of an answer are a ranking, too, where there is no run.
        """
        answer = self.get_answer(turn_id)
        has_contexts = answer is not None and answer.passages is not None
        parts = []
        if has_contexts if self.rankings is None else turn_id in self.rankings:
            parts.append(RANKING)
        if answer is not None:
            parts.append(ANSWER)
            if has_contexts or self.rankings is not None:
                parts.append(EVIDENCE)
        return parts

    @property
    def parts(self) -> list[str]:
        """The parts that the files hold of at least one turn."""
        turn_ids = {**(self.rankings or {}), **(self.answers or {})}
        present = {part for turn_id in turn_ids for part in self.parts_of(turn_id)}
        return [part for part in (RANKING, ANSWER, EVIDENCE) if part in present]


def read_predictions(
    run: Path | None,
    answers: Path | None,
    turns: Mapping[str, DatasetTurn],
    *,
    skip: bool,
    known: Container[str] = (),
    model: str | None = None,
) -> Predictions:
    """Read the files.

    Args:
        run: a TREC run, or a folder of them.
        answers: a JSONL file of answers, a folder of them, or a JSON file of InspectorRAGet.
        turns: the turns of the data set.
        skip: leave out turns that the data set does not have.
        known: ids of passages that a run has as they are (see `convrag.sdk.data.trec`).
        model: the model whose answers are read, of a file that has several.

    Raises:
        ConfigError: a file has answers of several models, and none of this one.
        DataError: a file is broken, has turns that the data set does not have, or none that it has.
    """
    predictions = Predictions()
    if run is not None:
        rankings, lines = read_trec_run(run, known)
        predictions.rankings = _match_turns(rankings, lines, turns, skip=skip)
        predictions.unknown[run] = len(rankings) - len(predictions.rankings)
        _check_not_empty(predictions.rankings, run)
    if answers is not None:
        texts, predictions.lines = read_answers(answers, model)
        predictions.answers = _match_turns(texts, predictions.lines, turns, skip=skip)
        predictions.unknown[answers] = len(texts) - len(predictions.answers)
        _check_not_empty(predictions.answers, answers)
    return predictions


def _check_not_empty(rows: Mapping[str, object], path: Path) -> None:
    if not rows:
        raise DataError("the data set has none of the turns of this file", path=path)


def _match_turns(
    rows: Mapping[str, T],
    lines: Mapping[str, Line],
    turns: Mapping[str, DatasetTurn],
    *,
    skip: bool,
) -> dict[str, T]:
    """Give the rows of a file the turn ids of the data set.

    Args:
        rows: turn id, as the file has it -> row.
        lines: turn id -> the line where it first occurs.
        turns: the turns of the data set.
        skip: leave out turns that the data set does not have.

    Returns:
        Turn id, as the data set has it -> row.

    Raises:
        DataError: a turn is not in the data set, unless it may be left out; or two rows are for one
            turn.
    """
    unknown = [turn_id for turn_id in rows if not _find_id(turn_id, turns)]
    if unknown and not skip:
        raise lines[unknown[0]].error(
            f"the data set has no turn {unknown[0]!r}; it has {len(rows) - len(unknown)} of the "
            f"{len(rows)} turns of this file. Choose the data set and the domains that the file is "
            "about (dataset=..., dataset.domain=...), or leave the others out: task.unknown=skip"
        )
    matched: dict[str, T] = {}
    for turn_id, row in rows.items():
        known_id = _find_id(turn_id, turns)
        if not known_id:
            continue
        if known_id in matched:
            raise lines[turn_id].error(f"turn {turn_id!r} occurs twice")
        matched[known_id] = row
    return matched


def _find_id(turn_id: str, turns: Mapping[str, DatasetTurn]) -> str:
    """Find the data set's id of a turn; empty where it has no such turn.

    MTRAG's ids are conversation<::>turn; its scripts also write conversation::turn.
    """
    if turn_id in turns:
        return turn_id
    conversation_id, _, number = turn_id.rpartition("::")
    other_id = f"{conversation_id}<::>{number}"
    return other_id if other_id in turns else ""


def find_missing(
    predictions: Predictions, turns: Mapping[str, DatasetTurn], qrels: Mapping[str, object]
) -> dict[str, list[str]]:
    """Find turns that no file has, though the data set has qrels or a reference answer for them.

    Returns:
        "ranking" and "answer", as far as the files hold any -> turn ids.
    """
    judged = {
        RANKING: [turn_id for turn_id in turns if qrels.get(turn_id)],
        ANSWER: [turn_id for turn_id, place in turns.items() if place.turn.answer.strip()],
    }
    missing = {}
    for part in predictions.parts:
        if part in judged:
            missing[part] = [
                turn_id for turn_id in judged[part] if part not in predictions.parts_of(turn_id)
            ]
    return missing
