"""Ratings: scores that people or models gave to answers by a criterion, and the files that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from convrag_judging.judgement_files import JudgementLine, name_annotators, read_judgement_lines


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
