"""A TREC run: rankings by turn, in the order in which trec_eval would put them."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from convrag import DataError, Hit, Passage
from convrag.run.writers import single_precision
from convrag.sdk.jsonl import Line, read_lines_in


def read_rankings(path: Path) -> tuple[dict[str, list[Hit]], dict[str, Line]]:
    """Turn id -> its ranking, and the line where each turn first occurs.

    The order is trec_eval's: by score in single precision, the greater id first where scores are equal; the column of
    ranks does not count.

    Raises DataError for a broken line, a passage that is ranked twice, or a file without any.
    """
    scores: dict[str, dict[str, float]] = {}
    places: dict[str, Line] = {}
    for line in read_lines_in(path, ".trec"):
        turn_id, passage_id, score = _columns(line)
        ranking = scores.setdefault(turn_id, {})
        places.setdefault(turn_id, line)
        if passage_id in ranking:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        ranking[passage_id] = score
    if not scores:
        raise DataError("it holds no ranking", path=path)
    return {turn_id: _ordered(ranking) for turn_id, ranking in scores.items()}, places


def _columns(line: Line) -> tuple[str, str, float]:
    columns = line.text.split()
    if len(columns) != 6:
        raise line.error(f"a TREC run has six columns (turn Q0 passage rank score tag); here are {len(columns)}")
    try:
        score = float(columns[4])
    except ValueError as error:
        raise line.error(f"the score {columns[4]!r} is no number") from error
    if not isfinite(score):
        raise line.error(f"the score of passage {columns[2]!r} is {score}, which has no place in an order")
    return columns[0], columns[2], score


def ranked(hits: list[Hit]) -> list[Hit]:
    """Hits in trec_eval's order."""
    return sorted(
        sorted(hits, key=lambda hit: hit.passage.id, reverse=True), key=lambda hit: -single_precision(hit.score)
    )


def _ordered(ranking: dict[str, float]) -> list[Hit]:
    return ranked([Hit(Passage(passage_id, ""), score) for passage_id, score in ranking.items()])
