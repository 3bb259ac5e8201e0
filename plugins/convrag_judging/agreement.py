"""Agreement between the ratings of judges and of people: Spearman, Kendall's tau-b and
Krippendorff's alpha.

Krippendorff's alpha is our own, since the library of that name is under the GPL. It follows K.
Krippendorff, Computing Krippendorff's alpha-reliability (2011), whose worked examples are our
tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, Task, UnknownName
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.files import open_atomically, write_atomically
from convrag.sdk.output.plots import STYLE, make_figure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from convrag_judging.judgement_files import RatingTable


SEPARATOR = "<::>"
"""Separates a conversation's id from a turn's number in turn ids: intervals are bootstrapped over
conversations.
"""
Level = Literal["nominal", "ordinal", "interval"]
TurnScores = Mapping[str, Mapping[str, float]]
"""Turn id -> annotator -> score."""


RESAMPLES = 1000
LEAST = 5
"""Conversations from which on an interval is given."""


@dataclass(frozen=True)
class Agreement:
    """The agreement on one criterion; a figure is None where it is undefined (equal scores, or a single annotator).

    `spearman` and `tau_b` compare the mean score of each turn with the mean of its human scores;
    `interval` is the 95 % interval of `spearman`, by a bootstrap over conversations. `alpha` is
    over all annotators, people and judges alike; `alpha_humans` over the people alone, which is the
    most to be expected of a judge.
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
        """The figures in a sentence."""
        people = f"{self.annotators} annotators" if self.annotators > 1 else "1 annotator"
        among = (
            f" ({format_figure(self.alpha_humans)} among the annotators)"
            if self.annotators > 1
            else ""
        )
        spearman, tau_b, alpha = map(format_figure, (self.spearman, self.tau_b, self.alpha))
        within = " ({:.3f} to {:.3f})".format(*self.interval) if self.interval else ""
        figures = f"Spearman {spearman}{within}, Kendall's tau-b {tau_b}, Krippendorff's alpha {alpha}{among}"
        return f"{criterion}: {figures}, over {self.turns} turns with scores of {people}"


def measure_agreement(scores: TurnScores, human: TurnScores, level: Level = "ordinal") -> Agreement:
    """Compare the scores of judges and people, over the turns that have both.

    Args:
        scores: the scores to be checked.
        human: the scores of people.
        level: the scale's level of measurement, for Krippendorff's alpha.
    """
    turns = [turn_id for turn_id in human if scores.get(turn_id) and human[turn_id]]
    means = [_mean(scores[turn]) for turn in turns], [_mean(human[turn]) for turn in turns]
    tau_b, p_value = kendall_tau_b(*means)
    people = [list(human[turn].values()) for turn in turns]
    everyone = [[*human[turn].values(), *scores[turn].values()] for turn in turns]
    return Agreement(
        turns=len(turns),
        annotators=len({name for turn in turns for name in human[turn]}),
        spearman=spearman(*means),
        interval=spearman_interval(*means, [turn.partition(SEPARATOR)[0] for turn in turns]),
        tau_b=tau_b,
        p_value=p_value,
        alpha=krippendorff_alpha(everyone, level),
        alpha_humans=krippendorff_alpha(people, level),
    )


def measure_agreements(
    ratings: RatingTable, human: RatingTable, level: Level = "ordinal"
) -> dict[str, Agreement]:
    """Criterion -> agreement, for the criteria that both judges and people rated."""
    return {
        name: measure_agreement(ratings[name], human[name], level)
        for name in human
        if name in ratings
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None where all values of one side are equal."""
    import numpy as np
    from scipy.stats import rankdata

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def spearman_interval(
    first: Sequence[float], second: Sequence[float], conversations: Sequence[str]
) -> tuple[float, float] | None:
    """The 95 % interval of `spearman`: a percentile bootstrap that draws conversations with
    replacement.

    None where there are fewer than five of them, or where a side's values hardly differ.
    """
    import numpy as np

    places: dict[str, list[int]] = {}
    for place, name in enumerate(conversations):
        places.setdefault(name, []).append(place)
    if len(groups := list(places.values())) < LEAST or spearman(first, second) is None:
        return None
    generator = np.random.default_rng(0)
    found: list[float] = []
    for draw in generator.integers(len(groups), size=(RESAMPLES, len(groups))):
        turns = [place for group in draw for place in groups[group]]
        value = spearman([first[turn] for turn in turns], [second[turn] for turn in turns])
        found += [] if value is None else [value]
    low, high = np.quantile(found, [0.025, 0.975]) if found else (np.nan, np.nan)
    return float(low), float(high)


def kendall_tau_b(
    first: Sequence[float], second: Sequence[float]
) -> tuple[float | None, float | None]:
    """Kendall's tau-b and its two-sided p value; None where all values of one side are equal."""
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None, None
    result = kendalltau(first, second, variant="b")
    return float(result.statistic), float(result.pvalue)


def krippendorff_alpha(units: Iterable[Sequence[float]], level: Level = "ordinal") -> float | None:
    """Krippendorff's alpha: 1 is perfect agreement, 0 chance; None where it is undefined, all
    values being equal.

    Args:
        units: for each unit the values that annotators gave it, in any order. A unit with fewer
            than two is left out.
        level: whether the values are names ("nominal"), ranks ("ordinal") or numbers on an even
            scale ("interval").
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


def _squared_differences(
    values: NDArray[np.float64], totals: NDArray[np.float64], level: Level
) -> NDArray[np.float64]:
    """The squared difference of each two values; ranks differ by the number of values between them."""
    import numpy as np

    if level == "nominal":
        return 1.0 - np.eye(len(values))
    places = np.cumsum(totals) - totals / 2 if level == "ordinal" else values
    differences: NDArray[np.float64] = (places[:, None] - places[None, :]) ** 2
    return differences


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


@dataclass(kw_only=True, eq=False)
class AgreementTask(Task):
    """Compare scores of answers with scores by people: Spearman's and Kendall's correlation, Krippendorff's alpha.

    A line of a file is {"turn_id": ..., "criterion": ..., "score": ..., "annotator": ...}, or holds
    several "scores" by criterion, as the scores.jsonl of any run does. Each file of scores is a
    judge. A .json file is one of InspectorRAGet, such as MTRAG's marks of people: `human` reads
    what people marked in it, `scores` what algorithms did. The figures are written to
    agreement.json and agreement.md in the folder of this command, and drawn there (extra `plots`).

    Args:
        scores: files of scores to be checked: a run's judgements.jsonl or scores.jsonl, or any
            other.
        human: files of people's scores.
        measure: the measure of the scores to compare with every criterion of the people; None
            compares measures and criteria of the same name, and where there are none all with all.
        models: whose answers each file of scores is about, where `human` has the answers of several
            models.
        level: the scale's level of measurement, for Krippendorff's alpha.
    """

    scores: list[Path]
    human: list[Path]
    measure: str | None = None
    models: Sequence[str] = ()
    level: Literal["nominal", "ordinal", "interval"] = "ordinal"

    def __post_init__(self) -> None:
        for name, files in (("scores", self.scores), ("human", self.human)):
            if not files:
                raise ConfigError(f"task.{name} is empty: task.{name}=[FILE]")
        if self.models and len(self.models) != len(self.scores):
            raise ConfigError(
                f"task.models names {len(self.models)} models for {len(self.scores)} files of scores"
            )

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read the files, write and draw the figures, and print them."""
        from convrag.sdk.output.console import make_console
        from convrag.sdk.output.printable import format_table

        agreements = self._compare()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = {name: asdict(agreement) for name, agreement in agreements.items()}
        table = format_table(
            [_HEADINGS, *(_make_row(name, each) for name, each in agreements.items())]
        )
        write_atomically(folder / "agreement.json", format_json(numbers, indent=2) + "\n")
        write_atomically(folder / "agreement.md", "\n".join(table) + "\n")
        console = make_console()
        for line in (*table, *_draw(agreements, folder), f"Results: {folder / 'agreement.json'}"):
            console.print(line, soft_wrap=True)
        return 0

    def _compare(self) -> dict[str, Agreement]:
        """The agreement of each measure with each criterion that it is compared with, by their
        names.
        """
        from convrag_judging.judgement_files import group_ratings, read_ratings

        human = group_ratings(read_ratings(self.human))
        scores = group_ratings(read_ratings(self.scores, "algorithm", self.models))
        if self.measure is not None:
            if self.measure not in scores:
                raise UnknownName("task.measure: measure", self.measure, scores)
            scores = dict.fromkeys(human, scores[self.measure])
        found = measure_agreements(scores, human, self.level)
        if not found:
            found = {
                f"{criterion}, {measure}": measure_agreement(
                    scores[measure], human[criterion], self.level
                )
                for criterion in human
                for measure in scores
            }
        if not any(agreement.turns for agreement in found.values()):
            raise ConfigError(
                "no turn has both scores and people's scores: do the files have the same turn ids? Where people marked "
                "the answers of several models, task.models=[MODEL, ...] says whose each file of scores is about"
            )
        return found


_HEADINGS = (
    "people's criterion",
    "Spearman",
    "95 % interval",
    "Kendall",
    "alpha",
    "alpha of people",
    "turns",
)


def _make_row(name: str, each: Agreement) -> tuple[str, ...]:
    within = "{:.3f} to {:.3f}".format(*each.interval) if each.interval else ""
    figures = map(format_figure, (each.tau_b, each.alpha, each.alpha_humans))
    return (name, format_figure(each.spearman), within, *figures, str(each.turns))


def _draw(agreements: Mapping[str, Agreement], folder: Path) -> Iterator[str]:
    """Draw Spearman's correlations with their intervals, agreement.svg and .png; a remark where
    that is impossible.
    """
    drawn = {name: each for name, each in agreements.items() if each.spearman is not None}
    if find_spec("matplotlib") is None:
        yield "No plot was drawn: matplotlib is not installed (pip install 'convrag[plots]')."
    if find_spec("matplotlib") is None or not drawn:
        return
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = make_figure(7, 1 + 0.28 * len(drawn))
        axes = figure.add_subplot()
        for row, each in enumerate(reversed(drawn.values())):
            axes.plot([each.spearman], [row], "o", color="black")
            axes.plot(each.interval or [], [row, row] if each.interval else [], color="black")
        axes.set_yticks(range(len(drawn)), [*reversed(drawn)])
        axes.axvline(0, color="grey", linewidth=0.5)
        axes.set_xlabel("Spearman's correlation with people, 95 % interval")
        for kind in ("svg", "png"):
            with open_atomically(folder / f"agreement.{kind}", "wb") as file:
                figure.savefig(
                    file, format=kind, metadata={"Date": None} if kind == "svg" else None
                )
