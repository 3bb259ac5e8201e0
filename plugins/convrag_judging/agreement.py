"""Agreement between the ratings of judges and of people, by criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from convrag_judging.correlation import kendall_tau_b, spearman, spearman_interval
from convrag_judging.krippendorff import Level, krippendorff_alpha
from convrag_judging.turn_ids import get_conversation_id

if TYPE_CHECKING:
    from convrag_judging.rating_files import RatingTable

TurnScores = Mapping[str, Mapping[str, float]]
"""Turn id -> annotator -> score."""


@dataclass(frozen=True)
class Agreement:
    """The agreement on one criterion.

    A figure is None where it is undefined: with equal scores, or a single annotator.

    Args:
        turns: how many turns both judges and people scored.
        annotators: how many people scored them.
        spearman: Spearman's correlation of the mean score of each turn with its mean human score.
        interval: the 95 % interval of `spearman`, by a bootstrap over conversations.
        tau_b: Kendall's tau-b of the same means.
        p_value: the p-value of `tau_b`.
        alpha: Krippendorff's alpha over all annotators, people and judges alike.
        alpha_humans: Krippendorff's alpha over the people alone, the most to expect of a judge.
    """

    turns: int
    annotators: int
    spearman: float | None
    interval: tuple[float, float] | None
    tau_b: float | None
    p_value: float | None
    alpha: float | None
    alpha_humans: float | None

    def describe(self, criterion: str) -> str:
        """Describe the figures in a sentence."""
        interval = ""
        if self.interval:
            low, high = self.interval
            interval = f" ({low:.3f} to {high:.3f})"
        people = "1 annotator"
        alpha_humans = ""
        if self.annotators > 1:
            people = f"{self.annotators} annotators"
            alpha_humans = f" ({format_figure(self.alpha_humans)} among the annotators)"
        return (
            f"{criterion}: Spearman {format_figure(self.spearman)}{interval}, "
            f"Kendall's tau-b {format_figure(self.tau_b)}, "
            f"Krippendorff's alpha {format_figure(self.alpha)}{alpha_humans}, "
            f"over {self.turns} turns with scores of {people}"
        )


def measure_agreement(scores: TurnScores, human: TurnScores, level: Level = "ordinal") -> Agreement:
    """Compare the scores of judges and people, over the turns that have both.

    Args:
        scores: the scores to be checked.
        human: the scores of people.
        level: the scale's level of measurement, for Krippendorff's alpha.
    """
    turns = [turn_id for turn_id in human if scores.get(turn_id) and human[turn_id]]
    means = [fmean(scores[turn].values()) for turn in turns]
    human_means = [fmean(human[turn].values()) for turn in turns]
    conversations = [get_conversation_id(turn) for turn in turns]
    tau_b, p_value = kendall_tau_b(means, human_means)
    people = [list(human[turn].values()) for turn in turns]
    everyone = [[*human[turn].values(), *scores[turn].values()] for turn in turns]
    return Agreement(
        turns=len(turns),
        annotators=len({name for turn in turns for name in human[turn]}),
        spearman=spearman(means, human_means),
        interval=spearman_interval(means, human_means, conversations),
        tau_b=tau_b,
        p_value=p_value,
        alpha=krippendorff_alpha(everyone, level),
        alpha_humans=krippendorff_alpha(people, level),
    )


def measure_agreements(
    ratings: RatingTable, human: RatingTable, level: Level = "ordinal"
) -> dict[str, Agreement]:
    """Measure criterion -> agreement, for the criteria that both judges and people rated."""
    return {
        name: measure_agreement(ratings[name], human[name], level)
        for name in human
        if name in ratings
    }


def format_figure(value: float | None) -> str:
    """Format a figure with three decimals; "undefined" for None."""
    return "undefined" if value is None else f"{value:.3f}"
