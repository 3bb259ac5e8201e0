"""How far scores agree with those that people gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from convrag_judging.krippendorff import Level, alpha
from convrag_judging.opinions import Opinions

Scores = Mapping[str, Mapping[str, float]]
"""Turn id -> who scored it -> score."""


@dataclass(frozen=True)
class Agreement:
    """Of one criterion; a figure is None where it is undefined (all scores equal, or a single annotator).

    `tau_b` compares the mean score of each turn with the mean of its human scores. `alpha` is that of all who scored,
    people and judges alike; `alpha_humans` that of the people among themselves, which no judge should be asked to beat.
    """

    turns: int
    annotators: int
    tau_b: float | None
    p_value: float | None
    alpha: float | None
    alpha_humans: float | None

    def numbers(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def sentence(self, criterion: str) -> str:
        """For people."""
        people = f"{self.annotators} annotators" if self.annotators > 1 else "1 annotator"
        among = f" ({_shown(self.alpha_humans)} among the annotators)" if self.annotators > 1 else ""
        figures = f"Kendall's tau-b {_shown(self.tau_b)}, Krippendorff's alpha {_shown(self.alpha)}{among}"
        return f"{criterion}: {figures}, over {self.turns} turns with scores of {people}"


def agreement(scores: Scores, human: Scores, level: Level = "ordinal") -> Agreement:
    """Compare what judges and people gave to the turns that both scored.

    Args:
        scores: those to be checked.
        human: those of people.
        level: of the scale, for Krippendorff's alpha.
    """
    turns = [turn_id for turn_id in human if scores.get(turn_id) and human[turn_id]]
    tau_b, p_value = kendall([_mean(scores[turn]) for turn in turns], [_mean(human[turn]) for turn in turns])
    people = [list(human[turn].values()) for turn in turns]
    together = [[*human[turn].values(), *scores[turn].values()] for turn in turns]
    annotators = len({name for turn in turns for name in human[turn]})
    return Agreement(len(turns), annotators, tau_b, p_value, alpha(together, level), alpha(people, level))


def agreements(scores: Opinions, human: Opinions, level: Level = "ordinal") -> dict[str, Agreement]:
    """Criterion -> agreement, for those that people scored and judges too."""
    return {name: agreement(scores[name], human[name], level) for name in human if name in scores}


def kendall(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, float | None]:
    """Kendall's tau-b and its two-sided p value; None where all values of one side are equal."""
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None, None
    result = kendalltau(first, second, variant="b")
    return float(result.statistic), float(result.pvalue)


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
