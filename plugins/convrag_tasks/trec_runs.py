"""TREC runs: the rankings of turns, in the order of trec_eval."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from reprlib import repr as brief

from convrag import DataError, Hit, Passage
from convrag.sdk.jsonl import Line, read_lines_in
from convrag.sdk.tasks.runs import round_to_single_precision


def read_trec_run(path: Path) -> tuple[dict[str, list[Hit]], dict[str, Line]]:
    """Read a TREC run; the *.trec files of a folder are read together. The column of ranks is ignored, as by trec_eval.

    Returns:
        Turn id -> ranking, and turn id -> the line where the turn first occurs.

    Raises:
        DataError: a line is broken, a passage is ranked twice for a turn, or there is no ranking.
    """
    scores: dict[str, dict[str, float]] = {}
    where: dict[str, Line] = {}
    for line in read_lines_in(path, ".trec"):
        turn_id, passage_id, score = _parse(line)
        ranking = scores.setdefault(turn_id, {})
        where.setdefault(turn_id, line)
        if passage_id in ranking:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        ranking[passage_id] = score
    if not scores:
        raise DataError("it holds no ranking", path=path)
    return {turn_id: _make_ranking(ranking) for turn_id, ranking in scores.items()}, where


def _parse(line: Line) -> tuple[str, str, float]:
    columns = line.text.split()
    if len(columns) != 6:
        raise line.error(f"a TREC run has six columns (turn Q0 passage rank score tag); here are {len(columns)}")
    try:
        score = float(columns[4])
    except ValueError as error:
        raise line.error(f"the score {brief(columns[4])} is no number") from error
    if not isfinite(score):
        raise line.error(f"the score of passage {columns[2]!r} is {score}, which has no place in an order")
    return columns[0], columns[2], score


def sort_hits(hits: list[Hit]) -> list[Hit]:
    """Hits in trec_eval's order: by score in single precision, and the greater id first where scores are equal."""
    return sorted(
        sorted(hits, key=lambda hit: hit.passage.id, reverse=True),
        key=lambda hit: -round_to_single_precision(hit.score),
    )


def _make_ranking(scores: dict[str, float]) -> list[Hit]:
    return sort_hits([Hit(Passage(passage_id, ""), score) for passage_id, score in scores.items()])
