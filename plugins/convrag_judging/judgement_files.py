"""Files of judgements: nuggets, their labels and ratings, a JSON object a line, and errors that
name the line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AliasChoices, Field, FiniteFloat

from convrag import DataError
from convrag.sdk.data.inspectorraget import Author, read_marked_answers
from convrag.sdk.data.jsonl import Line, read_lines
from convrag.sdk.text.citations import strip_citations
from convrag_judging.nugget_scores import (
    NuggetLabels,
    NuggetSet,
    parse_assignment,
    parse_importance,
)

T = TypeVar("T")

_TurnId = Annotated[
    str | int,
    Field(
        validation_alias=AliasChoices(
            "turn_id", "qid", "query_id", "topic_id", "task_id", "_id", "id"
        )
    ),
]
"""The id of the turn, under any of the names that files have for it."""


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
class _NuggetRow:
    text: str | None = None
    importance: str | None = None
    assignment: str | None = None


@dataclass(frozen=True)
class _NuggetLine:
    turn_id: _TurnId
    nuggets: list[str | _NuggetRow]

    def split(self) -> list[tuple[str, str, str]]:
        """Text, importance and assignment of each nugget; empty strings for what a nugget lacks."""
        rows = [_NuggetRow(each) if isinstance(each, str) else each for each in self.nuggets]
        return [(row.text or "", row.importance or "", row.assignment or "") for row in rows]


@dataclass(frozen=True)
class _LabelLine:
    turn_id: _TurnId
    nuggets: list[str | _NuggetRow] | None = None
    importance: list[str] | None = None
    assignment: list[str] | None = None
    assessor: str | None = None
    words: Annotated[
        int | None, Field(validation_alias=AliasChoices("words", "response_length"))
    ] = None
    answer_text: str | None = None


@dataclass(frozen=True)
class _RatingLine:
    turn_id: _TurnId
    scores: dict[str, FiniteFloat] | None = None
    criterion: str | None = None
    score: FiniteFloat | None = None
    annotator: str | int | None = None
    reason: str | None = None


def read_nuggets(path: Path) -> Mapping[str, NuggetSet]:
    """Turn id -> its nuggets. Raises DataError, naming the line.

    A line is {"turn_id": "...", "nuggets": [...]}; a nugget is {"text": "...", "importance":
    "vital"} or its text. The id may be called qid, as the nuggetizer does.
    """
    found: dict[str, NuggetSet] = {}
    for line, row in _parse_lines(path, _NuggetLine, "a line of nuggets"):
        turn_id = str(row.turn_id)
        if turn_id in found:
            raise line.error(f"{turn_id!r} has its nuggets already")
        nuggets = row.split()
        labels = [label for _, label, _ in nuggets]
        if any(labels) and not all(map(parse_importance, labels)):
            raise line.error(
                "the importance of a nugget is vital or okay; either each nugget has one, or none"
            )
        texts = tuple(text for text, _, _ in nuggets)
        if not all(text.strip() for text in texts):
            raise line.error("a nugget has no text")
        found[turn_id] = NuggetSet(texts, tuple(labels) if any(labels) else ())
    return found


def read_nugget_labels(paths: Sequence[Path]) -> Mapping[str, Sequence[NuggetLabels]]:
    """Turn id -> the labels of each assessor. Raises DataError, naming the line.

    A line is {"turn_id": "...", "importance": [...], "assignment": [...]}, or has "nuggets" that
    are {"text": "...", "importance": "vital", "assignment": "support"} each. An "assessor" tells
    several in one file apart; otherwise each file is one.
    """
    found: dict[str, dict[str, NuggetLabels]] = {}
    for path, name in zip(paths, name_annotators(paths), strict=True):
        has_label = False
        for line, row in _parse_lines(path, _LabelLine, "a line of labels"):
            labels = _read_labels(row, line, row.assessor or name)
            by_assessor = found.setdefault(str(row.turn_id), {})
            if labels.assessor in by_assessor:
                raise line.error(
                    f"{str(row.turn_id)!r} was judged by {labels.assessor!r} already: a file holds one answer to each "
                    'question; lines of several assessors need an "assessor" each'
                )
            by_assessor[labels.assessor] = labels
            has_label = has_label or any(map(parse_assignment, labels.assignment))
        if not has_label:
            raise DataError("no line has an assignment that is support, partial or none", path=path)
    return {turn_id: tuple(by_assessor.values()) for turn_id, by_assessor in found.items()}


def _read_labels(row: _LabelLine, line: Line, assessor: str) -> NuggetLabels:
    words = row.words
    if words is None and row.answer_text:
        words = len(strip_citations(row.answer_text).split())
    if row.nuggets is not None:
        nuggets = _NuggetLine(row.turn_id, row.nuggets).split()
        texts, importance, assignment = zip(*nuggets, strict=True) if nuggets else ((), (), ())
        return NuggetLabels(assessor, importance, assignment, texts, words)
    if row.importance is None or row.assignment is None:
        raise line.error('there must be "nuggets", or lists of "importance" and "assignment"')
    return NuggetLabels(assessor, tuple(row.importance), tuple(row.assignment), words=words)


def read_ratings(
    paths: Sequence[Path], author: Author = "human", models: Sequence[str] = ()
) -> list[Rating]:
    """The ratings in files, in order. Raises DataError, naming the line.

    A line is {"turn_id": "...", "criterion": "faithfulness", "score": 4, "annotator": "A"}, or has
    several "scores": {"turn_id": "...", "scores": {"faithfulness": 4}}, as the scores.jsonl of a
    run has. Without an "annotator", the name of the file is one. Of a .json file (InspectorRAGet)
    the marks are read.

    Args:
        paths: of the files.
        author: whose marks are read of a .json file; where it has several models, "turn (model)"
            names an answer.
        models: whose answers each file is about, where answers are named so.
    """
    found: list[Rating] = []
    for path, name, model in zip(
        paths, name_annotators(paths), models or [""] * len(paths), strict=True
    ):
        if path.suffix == ".json":
            found += _list_marks(path, author)
            continue
        seen: dict[tuple[str, str, str], int] = {}
        for line, row in _parse_lines(path, _RatingLine, "a rating"):
            scores = row.scores
            if scores is None and row.criterion and row.score is not None:
                scores = {row.criterion: row.score}
            if scores is None:
                raise line.error(
                    'there must be a "criterion" with a "score", or "scores" by criterion'
                )
            annotator = name if row.annotator is None else str(row.annotator)
            for criterion, score in scores.items():
                key = (str(row.turn_id), criterion, annotator)
                if key in seen:
                    raise line.error(f"{' '.join(key)} has a score already, in line {seen[key]}")
                seen[key] = line.number
                answer = f"{row.turn_id} ({model})" if model else str(row.turn_id)
                found.append(Rating(answer, criterion, score, annotator, row.reason or ""))
    return found


def _list_marks(path: Path, author: Author) -> Iterator[Rating]:
    answers = list(read_marked_answers(path))
    several = len({each.model for each in answers}) > 1
    for each in answers:
        answer = f"{each.turn_id} ({each.model})" if several else each.turn_id
        for criterion, marks in each.marks[author].items():
            yield from (
                Rating(answer, criterion, mark, annotator) for annotator, mark in marks.items()
            )


def group_ratings(ratings: Sequence[Rating]) -> RatingTable:
    """Scores by criterion, turn and annotator."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for rating in ratings:
        turns = table.setdefault(rating.criterion, {})
        turns.setdefault(rating.turn_id, {})[rating.annotator] = rating.score
    return table


def name_annotators(paths: Sequence[Path]) -> list[str]:
    """The annotator of each file: the file's name without ending, or its whole path where two files
    share a name.
    """
    stems = [path.stem for path in paths]
    return [
        stem if stems.count(stem) == 1 else str(path)
        for stem, path in zip(stems, paths, strict=True)
    ]


def _parse_lines(path: Path, kind: type[T], what: str) -> Iterator[tuple[Line, T]]:
    """Stream the lines of a JSONL file. Raises DataError, also where the file has no line."""
    empty = True
    for line in read_lines(path):
        empty = False
        yield line, line.parse(kind, what)
    if empty:
        raise DataError("this file is empty", path=path)
