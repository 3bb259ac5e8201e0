"""Files of judgements: nuggets, their labels and ratings, a JSON object a line, and errors that name the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import read_lines
from convrag_judging.answers import split_words
from convrag_judging.nugget_scores import parse_assignment, parse_importance

_TURN_ID_KEYS = ("turn_id", "qid", "query_id", "topic_id", "task_id", "_id", "id")


@dataclass(frozen=True)
class JudgementLine:
    """The JSON object of a line, with the file and the number of the line."""

    data: Mapping[str, Any]
    path: Path
    line: int

    def error(self, message: str) -> DataError:
        """An error that names the file and the line."""
        return DataError(message, path=self.path, line=self.line)

    @property
    def turn_id(self) -> str:
        """The id of the turn, under any of the names that files have for it. Raises DataError."""
        name = next((name for name in _TURN_ID_KEYS if name in self.data), "")
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.error(
                f"there must be a turn_id (or {', '.join(_TURN_ID_KEYS[1:])}) that is a string or a number"
            )
        return str(value)

    def get_text(self, name: str) -> str:
        """The string under a name; empty where there is none. Raises DataError where it is no string."""
        value = self.data.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(f"{name!r} must be a string, not {value!r}")
        return value

    def get_texts(self, name: str) -> list[str]:
        """The list of strings under a name. Raises DataError where it is none."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(f"{name!r} must be a list of strings")
        return value


def read_judgement_lines(path: Path) -> Iterator[JudgementLine]:
    """Stream the objects of a JSONL file. Raises DataError, also where the file has no line."""
    empty = True
    for line in read_lines(path):
        empty = False
        yield JudgementLine(line.json(), line.path, line.number)
    if empty:
        raise DataError("this file is empty", path=path)


def name_annotators(paths: Sequence[Path]) -> list[str]:
    """The annotator of each file: the file's name without ending, or its whole path where two files share a name."""
    stems = [path.stem for path in paths]
    return [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]


@dataclass(frozen=True)
class NuggetSet:
    """The nuggets of a turn. `importance` has a label for each, or is empty where they have none."""

    texts: tuple[str, ...]
    importance: tuple[str, ...] = ()


@dataclass(frozen=True)
class NuggetLabels:
    """An assessor's labels for the answer of a turn; the nuggets' `texts` and the answer's `words` are optional."""

    assessor: str
    importance: tuple[str, ...]
    assignment: tuple[str, ...]
    texts: tuple[str, ...] = ()
    words: int | None = None


def read_nuggets(path: Path) -> Mapping[str, NuggetSet]:
    """Turn id -> its nuggets. Raises DataError, naming the line.

    A line is {"turn_id": "...", "nuggets": [...]}; a nugget is {"text": "...", "importance": "vital"} or its text. The
    id may be called qid, as the nuggetizer does.
    """
    found: dict[str, NuggetSet] = {}
    for line in read_judgement_lines(path):
        if line.turn_id in found:
            raise line.error(f"{line.turn_id!r} has its nuggets already")
        nuggets = list(_read_nugget_rows(line))
        labels = [label for _, label, _ in nuggets]
        if any(labels) and not all(labels):
            raise line.error("either each nugget has an importance, or none")
        if unknown := [label for label in labels if label and parse_importance(label) is None]:
            raise line.error(f"an importance is vital or okay, not {unknown[0]!r}")
        texts = tuple(text for text, _, _ in nuggets)
        if not all(text.strip() for text in texts):
            raise line.error("a nugget has no text")
        found[line.turn_id] = NuggetSet(texts, tuple(labels) if any(labels) else ())
    return found


def read_nugget_labels(paths: Sequence[Path]) -> Mapping[str, Sequence[NuggetLabels]]:
    """Turn id -> the labels of each assessor. Raises DataError, naming the line.

    A line is {"turn_id": "...", "importance": [...], "assignment": [...]}, or has "nuggets" that are {"text": "...",
    "importance": "vital", "assignment": "support"} each. An "assessor" tells several in one file apart; otherwise each
    file is one.
    """
    found: dict[str, dict[str, NuggetLabels]] = {}
    for path, name in zip(paths, name_annotators(paths), strict=True):
        has_label = False
        for line in read_judgement_lines(path):
            labels = _read_labels(line, name)
            by_assessor = found.setdefault(line.turn_id, {})
            if labels.assessor in by_assessor:
                raise line.error(
                    f"{line.turn_id!r} was judged by {labels.assessor!r} already: a file holds one answer to each "
                    'question; lines of several assessors need an "assessor" each'
                )
            by_assessor[labels.assessor] = labels
            has_label = has_label or any(map(parse_assignment, labels.assignment))
        if not has_label:
            raise DataError("no line has an assignment that is support, partial or none", path=path)
    return {turn_id: tuple(by_assessor.values()) for turn_id, by_assessor in found.items()}


def _read_labels(line: JudgementLine, name: str) -> NuggetLabels:
    assessor = line.get_text("assessor") or name
    if "nuggets" in line.data:
        nuggets = list(_read_nugget_rows(line))
        texts, importance, assignment = zip(*nuggets, strict=True) if nuggets else ((), (), ())
        return NuggetLabels(assessor, importance, assignment, texts, _read_length(line))
    importance, assignment = tuple(line.get_texts("importance")), tuple(line.get_texts("assignment"))
    return NuggetLabels(assessor, importance, assignment, words=_read_length(line))


def _read_nugget_rows(line: JudgementLine) -> Iterator[tuple[str, str, str]]:
    """Text, importance and assignment of each nugget; empty strings for what a nugget lacks."""
    nuggets = line.data.get("nuggets")
    if not isinstance(nuggets, list):
        raise line.error("'nuggets' must be a list")
    for nugget in nuggets:
        fields = {"text": nugget} if isinstance(nugget, str) else nugget
        if not isinstance(fields, dict):
            raise line.error(f"a nugget is an object or a string, not {nugget!r}")
        values = [fields.get(name) or "" for name in ("text", "importance", "assignment")]
        if not all(isinstance(value, str) for value in values):
            raise line.error("text, importance and assignment of a nugget must be strings")
        yield values[0], values[1], values[2]


def _read_length(line: JudgementLine) -> int | None:
    """The length in words of the answer that was judged, where the line has it."""
    length = next((line.data[name] for name in ("words", "response_length") if name in line.data), None)
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    text = line.get_text("answer_text")
    return len(split_words(text)) if text else None


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


def read_ratings(paths: Sequence[Path]) -> list[Rating]:
    """The ratings in files, in order. Raises DataError, naming the line.

    A line is {"turn_id": "...", "criterion": "faithfulness", "score": 4, "annotator": "A"}, or has several "scores":
    {"turn_id": "...", "scores": {"faithfulness": 4}}, as the scores.jsonl of a run has. Without an "annotator", the
    name of the file is one.
    """
    found: list[Rating] = []
    for path, name in zip(paths, name_annotators(paths), strict=True):
        seen: dict[tuple[str, str, str], int] = {}
        for line in read_judgement_lines(path):
            for rating in _read_line(line, name):
                key = (rating.turn_id, rating.criterion, rating.annotator)
                if key in seen:
                    raise line.error(f"{' '.join(key)} has a score already, in line {seen[key]}")
                seen[key] = line.line
                found.append(rating)
    return found


def group_ratings(ratings: Sequence[Rating]) -> RatingTable:
    """Scores by criterion, turn and annotator."""
    table: dict[str, dict[str, dict[str, float]]] = {}
    for rating in ratings:
        turns = table.setdefault(rating.criterion, {})
        turns.setdefault(rating.turn_id, {})[rating.annotator] = rating.score
    return table


def _read_line(line: JudgementLine, name: str) -> Iterator[Rating]:
    annotator = line.data.get("annotator", name)
    if isinstance(annotator, bool) or not isinstance(annotator, str | int):
        raise line.error("an annotator is a name or a number")
    if isinstance(scores := line.data.get("scores"), dict):
        by_criterion = scores
    elif "score" in line.data:
        by_criterion = {line.get_text("criterion"): line.data["score"]}
    else:
        raise line.error('there must be a "criterion" with a "score", or "scores" by criterion')
    for criterion, score in by_criterion.items():
        if not criterion:
            raise line.error('there must be a "criterion" beside the score')
        yield Rating(line.turn_id, criterion, _parse_score(line, score), str(annotator), line.get_text("reason"))


def _parse_score(line: JudgementLine, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise line.error(f"a score is a number, not {value!r}")
    return float(value)
