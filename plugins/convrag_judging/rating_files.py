"""Files of ratings: the scores that annotators gave to answers, a JSON object a line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import FiniteFloat

from convrag.sdk.data.inspectorraget import Author, read_marked_answers
from convrag.sdk.data.jsonl import Line
from convrag_judging.judgement_lines import TurnId, name_annotators, parse_lines


@dataclass(frozen=True)
class Rating:
    """The score that one annotator, a person or a model, gave to one answer by one criterion."""

    turn_id: str
    criterion: str
    score: float
    annotator: str
    reason: str = ""


RatingTable = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Criterion -> turn id -> annotator -> score."""


@dataclass(frozen=True)
class _RatingLine:
    turn_id: TurnId
    scores: dict[str, FiniteFloat] | None = None
    criterion: str | None = None
    score: FiniteFloat | None = None
    annotator: str | int | None = None
    reason: str | None = None


def read_ratings(
    paths: Sequence[Path], author: Author = "human", models: Sequence[str] = ()
) -> list[Rating]:
    """Read the ratings in files, in order.

    A line is {"turn_id": "...", "criterion": "faithfulness", "score": 4, "annotator": "A"}, or has
    several "scores": {"turn_id": "...", "scores": {"faithfulness": 4}}, as the scores.jsonl of a
    run has. Without an "annotator", the name of the file is one. A .json file is one of
    InspectorRAGet, whose annotations are read.

    Args:
        paths: the files.
        author: whose annotations are read from a .json file: people's or algorithms'. Where it has
            several models, an answer is named "turn (model)".
        models: the model that each file is about, where answers are named so.

    Raises:
        DataError: a line is broken, which is named, or an answer has two scores of one annotator.
    """
    ratings: list[Rating] = []
    names = name_annotators(paths)
    for path, name, model in zip(paths, names, models or [""] * len(paths), strict=True):
        if path.suffix == ".json":
            ratings += _read_inspector_ratings(path, author)
        else:
            ratings += _read_jsonl_ratings(path, name, model)
    return ratings


def _read_inspector_ratings(path: Path, author: Author) -> Iterator[Rating]:
    answers = list(read_marked_answers(path))
    has_several_models = len({answer.model for answer in answers}) > 1
    for answer in answers:
        name = f"{answer.turn_id} ({answer.model})" if has_several_models else answer.turn_id
        for criterion, scores in answer.marks[author].items():
            for annotator, score in scores.items():
                yield Rating(name, criterion, score, annotator)


def _read_jsonl_ratings(path: Path, annotator: str, model: str) -> Iterator[Rating]:
    """Yield the ratings of a JSONL file.

    Args:
        path: the file.
        annotator: the annotator of lines that name none.
        model: the model that the file is about, if answers are named so.
    """
    line_numbers: dict[tuple[str, str, str], int] = {}
    for line, row in parse_lines(path, _RatingLine, "a rating"):
        turn_id = str(row.turn_id)
        name = annotator if row.annotator is None else str(row.annotator)
        for criterion, score in _get_scores(row, line).items():
            key = (turn_id, criterion, name)
            if key in line_numbers:
                raise line.error(
                    f"{' '.join(key)} has a score already, in line {line_numbers[key]}"
                )
            line_numbers[key] = line.number
            answer = f"{turn_id} ({model})" if model else turn_id
            yield Rating(answer, criterion, score, name, row.reason or "")


def _get_scores(row: _RatingLine, line: Line) -> Mapping[str, float]:
    if row.scores is not None:
        return row.scores
    if row.criterion and row.score is not None:
        return {row.criterion: row.score}
    raise line.error('there must be a "criterion" with a "score", or "scores" by criterion')


def group_ratings(ratings: Sequence[Rating]) -> RatingTable:
    """Group scores by criterion, turn and annotator."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for rating in ratings:
        turns = table.setdefault(rating.criterion, {})
        turns.setdefault(rating.turn_id, {})[rating.annotator] = rating.score
    return table
