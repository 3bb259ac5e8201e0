"""Agreement between the ratings of judges and of people: Kendall's tau-b and Krippendorff's alpha.

Krippendorff's alpha is our own, since the library of that name is under the GPL. It follows K. Krippendorff, Computing
Krippendorff's alpha-reliability (2011), whose worked examples are our tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, Task, UnknownName
from convrag.sdk.files import write_atomically
from convrag.sdk.strict_json import format_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_judging.judgement_files import RatingTable


Level = Literal["nominal", "ordinal", "interval"]
TurnScores = Mapping[str, Mapping[str, float]]
"""Turn id -> annotator -> score."""


@dataclass(frozen=True)
class Agreement:
    """The agreement on one criterion; a figure is None where it is undefined (equal scores, or a single annotator).

    `tau_b` compares the mean score of each turn with the mean of its human scores. `alpha` is over all annotators,
    people and judges alike; `alpha_humans` over the people alone, which is the most to be expected of a judge.
    """

    turns: int
    annotators: int
    tau_b: float | None
    p_value: float | None
    alpha: float | None
    alpha_humans: float | None

    def describe(self, criterion: str) -> str:
        """The figures in a sentence."""
        people = f"{self.annotators} annotators" if self.annotators > 1 else "1 annotator"
        among = f" ({format_figure(self.alpha_humans)} among the annotators)" if self.annotators > 1 else ""
        tau_b, alpha = format_figure(self.tau_b), format_figure(self.alpha)
        figures = f"Kendall's tau-b {tau_b}, Krippendorff's alpha {alpha}{among}"
        return f"{criterion}: {figures}, over {self.turns} turns with scores of {people}"


def measure_agreement(scores: TurnScores, human: TurnScores, level: Level = "ordinal") -> Agreement:
    """Compare the scores of judges and people, over the turns that have both.

    Args:
        scores: the scores to be checked.
        human: the scores of people.
        level: the scale's level of measurement, for Krippendorff's alpha.
    """
    turns = [turn_id for turn_id in human if scores.get(turn_id) and human[turn_id]]
    tau_b, p_value = kendall_tau_b([_mean(scores[turn]) for turn in turns], [_mean(human[turn]) for turn in turns])
    people = [list(human[turn].values()) for turn in turns]
    everyone = [[*human[turn].values(), *scores[turn].values()] for turn in turns]
    return Agreement(
        turns=len(turns),
        annotators=len({name for turn in turns for name in human[turn]}),
        tau_b=tau_b,
        p_value=p_value,
        alpha=krippendorff_alpha(everyone, level),
        alpha_humans=krippendorff_alpha(people, level),
    )


def measure_agreements(ratings: RatingTable, human: RatingTable, level: Level = "ordinal") -> dict[str, Agreement]:
    """Criterion -> agreement, for the criteria that both judges and people rated."""
    return {name: measure_agreement(ratings[name], human[name], level) for name in human if name in ratings}


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, float | None]:
    """Kendall's tau-b and its two-sided p value; None where all values of one side are equal."""
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None, None
    result = kendalltau(first, second, variant="b")
    return float(result.statistic), float(result.pvalue)


def krippendorff_alpha(units: Iterable[Sequence[float]], level: Level = "ordinal") -> float | None:
    """Krippendorff's alpha: 1 is perfect agreement, 0 chance; None where it is undefined, all values being equal.

    Args:
        units: for each unit the values that annotators gave it, in any order. A unit with fewer than two is left out.
        level: whether the values are names ("nominal"), ranks ("ordinal") or numbers on an even scale ("interval").
    """
    import numpy as np

    rated = [unit for unit in units if len(unit) > 1]
    if not rated:
        return None
    values = np.unique(np.concatenate([np.asarray(unit, dtype=np.float64) for unit in rated]))
    coincidences = np.zeros((len(values), len(values)))
    for unit in rated:
        counts = np.bincount(np.searchsorted(values, unit), minlength=len(values))
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    differences = _squared_differences(values, totals, level)
    expected = float(totals @ differences @ totals)
    if not expected:
        return None
    return 1.0 - (float(totals.sum()) - 1.0) * float((coincidences * differences).sum()) / expected


def format_figure(value: float | None) -> str:
    """A figure with three decimals, or "undefined"."""
    return "undefined" if value is None else f"{value:.3f}"


def _squared_differences(values: NDArray[np.float64], totals: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """The squared difference of each two values; ranks differ by the number of values between them."""
    import numpy as np

    if level == "nominal":
        return 1.0 - np.eye(len(values))
    places = np.cumsum(totals) - totals / 2 if level == "ordinal" else values
    differences: NDArray[np.float64] = (places[:, None] - places[None, :]) ** 2
    return differences


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


class AgreementTask(Task):
    """Compare scores of answers with scores by people: Kendall's tau-b and Krippendorff's alpha by criterion.

    A line of a file is {"turn_id": ..., "criterion": ..., "score": ..., "annotator": ...}, or holds several "scores" by
    criterion, as the scores.jsonl of any run does. Each file of scores is a judge. The figures are written to
    agreement.json in the folder of this command.

    Args:
        scores: JSONL files of scores to be checked: a run's judgements.jsonl or scores.jsonl, or any other.
        human: JSONL files of people's scores.
        measure: the measure of the scores to compare with every criterion of the people; None compares measures and
            criteria of the same name.
        level: the scale's level of measurement, for Krippendorff's alpha.
    """

    def __init__(
        self,
        *,
        scores: list[Path],
        human: list[Path],
        measure: str | None = None,
        level: Literal["nominal", "ordinal", "interval"] = "ordinal",
    ) -> None:
        for name, files in (("scores", scores), ("human", human)):
            if not files:
                raise ConfigError(f"task.{name} is empty: task.{name}=[FILE]")
        self.scores = list(scores)
        self.human = list(human)
        self.measure = measure
        self.level = level

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read the files, write the figures to agreement.json and print them."""
        from convrag.sdk.console import make_console
        from convrag_judging.judgement_files import group_ratings, read_ratings

        scores, human = group_ratings(read_ratings(self.scores)), group_ratings(read_ratings(self.human))
        if self.measure is not None:
            if self.measure not in scores:
                raise UnknownName("task.measure: measure", self.measure, scores)
            scores = dict.fromkeys(human, scores[self.measure])
        agreements = measure_agreements(scores, human, self.level)
        if not agreements:
            raise ConfigError(
                f"people scored {', '.join(human)}, and the scores are of {', '.join(scores)}: there is nothing of the "
                "same name to compare. task.measure=... compares a measure whatever its name"
            )
        if not any(agreement.turns for agreement in agreements.values()):
            raise ConfigError("no turn has both scores and people's scores: do the files have the same turn ids?")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "agreement.json"
        numbers = {name: asdict(agreement) for name, agreement in agreements.items()}
        write_atomically(path, format_json(numbers, indent=2) + "\n")
        console = make_console()
        for name, agreement in agreements.items():
            console.print(agreement.describe(name), soft_wrap=True)
        console.print(f"Results: {path}", soft_wrap=True)
        return 0
