"""What a plot by turn shows: the mean of a measure at each position in the conversation, with its interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from convrag.sdk.tasks.scores import LEAST, bootstrap_intervals
from convrag_compare.equal_runs import join_equal_rows
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.run_result import Scores

_FEWEST = 2
"""Where no position is in five conversations, those that so many have are drawn, without bands."""


@dataclass(frozen=True)
class Curve:
    """The curve of one run.

    Args:
        rows: the run, and those with the same score in every turn.
        positions: of turns in their conversations, from 1, in rising order.
        means: of the measure at each position.
        low: the lower ends of the 95 % intervals; NaN over fewer than five conversations.
        high: the upper ends.
    """

    rows: Sequence[Row]
    positions: Sequence[int]
    means: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True)
class TurnCurves:
    """The curves of a plot by turn.

    Args:
        curves: the best run first, each of equal runs once.
        conversations: position -> how many conversations have a scored turn there, in the run with the most.
        left_out: the positions that are not drawn, since too few conversations have them.
        least: how many conversations a position must have to be drawn.
    """

    curves: Sequence[Curve]
    conversations: Mapping[int, int]
    left_out: Sequence[int]
    least: int

    def describe_left_out(self) -> str:
        """What the plot says of the positions that it leaves out: `not drawn: turns 10 to 12 (fewer than 5 ...)`."""
        if not self.left_out:
            return ""
        first, last = self.left_out[0], self.left_out[-1]
        together = len(self.left_out) == last - first + 1
        named = f"{first} to {last}" if together and last > first else ", ".join(map(str, self.left_out))
        noun = "turn" if len(self.left_out) == 1 else "turns"
        few = "only one conversation" if self.least == _FEWEST else f"fewer than {self.least} conversations"
        return f"not drawn: {noun} {named}, of {few}"


def make_curves(board: Leaderboard, measure: str) -> TurnCurves:
    """The curves of all runs by a measure; none where no position is in two conversations."""
    scored = [row for row in board.rows if row.scores[measure].mean == row.scores[measure].mean]
    rows = sorted(scored, key=lambda row: -row.scores[measure].mean)
    counts = _count_conversations(rows, measure)
    least = LEAST if any(count >= LEAST for count in counts.values()) else _FEWEST
    drawn = [number for number, count in counts.items() if count >= least]
    curves = [_make_curve(same, measure, drawn, least) for same in join_equal_rows(rows, measure)]
    return TurnCurves(
        curves=[curve for curve in curves if curve.positions],
        conversations={number: counts[number] for number in drawn},
        left_out=[number for number in counts if number not in drawn],
        least=least,
    )


def _make_curve(rows: Sequence[Row], measure: str, drawn: Sequence[int], least: int) -> Curve:
    by_position = _group_by_position(rows[0].result.scores, measure)
    positions = [number for number in drawn if len(by_position.get(number, ())) >= least]
    names = list(dict.fromkeys(name for number in positions for name in by_position[number]))
    sums, sizes = np.zeros((len(names), len(positions))), np.zeros((len(names), len(positions)))
    for column, number in enumerate(positions):
        for name, values in by_position[number].items():
            sums[names.index(name), column] = sum(values)
            sizes[names.index(name), column] = len(values)
    bounds = bootstrap_intervals(sums, sizes) if positions else np.empty((0, 2))
    means = sums.sum(axis=0) / sizes.sum(axis=0)
    return Curve(rows, positions, means.tolist(), bounds[:, 0].tolist(), bounds[:, 1].tolist())


def _group_by_position(scores: Scores, measure: str) -> dict[int, dict[str, list[float]]]:
    """Position of a turn -> conversation -> the values of the measure there, in rising order of positions."""
    found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = scores.numbers, scores.conversations, scores.measures.get(measure, ())
    for number, name, value in zip(*columns, strict=False):
        if value == value:
            found[number][name].append(value)
    return dict(sorted(found.items()))


def _count_conversations(rows: Sequence[Row], measure: str) -> dict[int, int]:
    """Position of a turn -> how many conversations have a scored turn there, in the run with the most."""
    counts: dict[int, int] = defaultdict(int)
    for row in rows:
        for number, names in _group_by_position(row.result.scores, measure).items():
            counts[number] = max(counts[number], len(names))
    return dict(sorted(counts.items()))
