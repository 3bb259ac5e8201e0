"""Scores that people or models gave to answers, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from convrag_judging.given import names_of
from convrag_judging.rows import Row, read_rows


@dataclass(frozen=True)
class Opinion:
    """What one annotator thinks of one answer."""

    turn_id: str
    criterion: str
    score: float
    annotator: str
    reason: str = ""


Opinions = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Criterion -> turn id -> annotator -> score."""


def read_opinions(paths: Sequence[Path]) -> list[Opinion]:
    """The scores in files, in order. Raises DataError, naming the line.

    A line is {"turn_id": "...", "criterion": "faithfulness", "score": 4, "annotator": "A"}, or has several "scores":
    {"turn_id": "...", "scores": {"faithfulness": 4}}, as the scores.jsonl of a run has. Without an "annotator", the
    name of the file is one.
    """
    found: list[Opinion] = []
    for path, name in zip(paths, names_of(paths), strict=True):
        seen: dict[tuple[str, str, str], int] = {}
        for row in read_rows(path):
            for opinion in _opinions(row, name):
                key = (opinion.turn_id, opinion.criterion, opinion.annotator)
                if key in seen:
                    raise row.error(f"{' '.join(key)} has a score already, in line {seen[key]}")
                seen[key] = row.line
                found.append(opinion)
    return found


def grouped(opinions: Sequence[Opinion]) -> Opinions:
    """The same by criterion, turn and annotator."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for opinion in opinions:
        turns = found.setdefault(opinion.criterion, {})
        turns.setdefault(opinion.turn_id, {})[opinion.annotator] = opinion.score
    return found


def _opinions(row: Row, name: str) -> Iterator[Opinion]:
    annotator = row.data.get("annotator", name)
    if isinstance(annotator, bool) or not isinstance(annotator, str | int):
        raise row.error("an annotator is a name or a number")
    if isinstance(scores := row.data.get("scores"), dict):
        given = scores
    elif "score" in row.data:
        given = {row.text("criterion"): row.data["score"]}
    else:
        raise row.error('there must be a "criterion" with a "score", or "scores" by criterion')
    for criterion, score in given.items():
        if not criterion:
            raise row.error('there must be a "criterion" beside the score')
        yield Opinion(row.turn_id, criterion, _number(row, score), str(annotator), row.text("reason"))


def _number(row: Row, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise row.error(f"a score is a number, not {value!r}")
    return float(value)
