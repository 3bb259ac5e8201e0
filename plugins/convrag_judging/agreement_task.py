"""`task=agreement`: how well the scores in files agree with people's scores."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig

from convrag import ConfigError, Task, UnknownName
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.files import write_atomically
from convrag.sdk.output.plots import STYLE, make_figure, save_figure
from convrag_judging.agreement import (
    Agreement,
    format_figure,
    measure_agreement,
    measure_agreements,
)

_HEADINGS = (
    "people's criterion",
    "Spearman",
    "95 % interval",
    "Kendall",
    "alpha",
    "alpha of people",
    "turns",
)


@dataclass(kw_only=True, eq=False)
class AgreementTask(Task):
    """Compare scores of answers with scores by people: correlations and Krippendorff's alpha.

    A line of a file is {"turn_id": ..., "criterion": ..., "score": ..., "annotator": ...}, or holds
    several "scores" by criterion, as the scores.jsonl of any run does. Each file of scores is a
    judge. A .json file is one of InspectorRAGet, such as MTRAG's human evaluations: `human`
    reads what people scored in it, `scores` what algorithms did. The figures are written to
    agreement.json and agreement.md in the folder of this command, and drawn there (extra `plots`).

    Args:
        scores: files of scores to be checked: a run's judgements.jsonl or scores.jsonl, or any
            other.
        human: files of people's scores.
        measure: the measure of the scores to compare with every criterion of the people; None
            compares measures and criteria of the same name, and where there are none all with all.
        models: the model that each file of scores is about, where `human` has the answers of
            several models.
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
                f"task.models names {len(self.models)} models for {len(self.scores)} files of "
                "scores"
            )

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Read the files, write and draw the figures, and print them."""
        from convrag.sdk.output.console import make_console
        from convrag.sdk.output.printable import format_table

        agreements = self._compare()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = {name: asdict(agreement) for name, agreement in agreements.items()}
        rows = [_make_row(name, agreement) for name, agreement in agreements.items()]
        table = format_table([_HEADINGS, *rows])
        write_atomically(folder / "agreement.json", format_json(numbers, indent=2) + "\n")
        write_atomically(folder / "agreement.md", "\n".join(table) + "\n")
        remarks = _draw_plots(agreements, folder)
        console = make_console()
        for line in (*table, *remarks, f"Results: {folder / 'agreement.json'}"):
            console.print(line, soft_wrap=True)
        return 0

    def _compare(self) -> dict[str, Agreement]:
        """Measure the agreement of each measure with each criterion that it is compared with."""
        from convrag_judging.rating_files import group_ratings, read_ratings

        human = group_ratings(read_ratings(self.human))
        scores = group_ratings(read_ratings(self.scores, "algorithm", self.models))
        if self.measure is not None:
            if self.measure not in scores:
                raise UnknownName("task.measure: measure", self.measure, scores)
            scores = dict.fromkeys(human, scores[self.measure])
        agreements = measure_agreements(scores, human, self.level)
        if not agreements:
            for criterion, human_scores in human.items():
                for measure, measure_scores in scores.items():
                    agreements[f"{criterion}, {measure}"] = measure_agreement(
                        measure_scores, human_scores, self.level
                    )
        if not any(agreement.turns for agreement in agreements.values()):
            raise ConfigError(
                "no turn has both scores and people's scores: do the files have the same turn ids? "
                "Where people marked the answers of several models, task.models=[MODEL, ...] says "
                "whose each file of scores is about"
            )
        return agreements


def _make_row(name: str, agreement: Agreement) -> tuple[str, ...]:
    interval = ""
    if agreement.interval:
        low, high = agreement.interval
        interval = f"{low:.3f} to {high:.3f}"
    return (
        name,
        format_figure(agreement.spearman),
        interval,
        format_figure(agreement.tau_b),
        format_figure(agreement.alpha),
        format_figure(agreement.alpha_humans),
        str(agreement.turns),
    )


def _draw_plots(agreements: Mapping[str, Agreement], folder: Path) -> list[str]:
    """Draw Spearman's correlations with their intervals, agreement.svg and agreement.png.

    Returns:
        Remarks: one where a library is not installed.
    """
    if find_spec("matplotlib") is None:
        return ["No plot was drawn: matplotlib is not installed (pip install 'convrag[plots]')."]
    drawn = {name: each for name, each in agreements.items() if each.spearman is not None}
    if not drawn:
        return []
    from matplotlib import rc_context

    names = list(reversed(drawn))  # matplotlib counts rows from below
    with rc_context(STYLE):
        figure = make_figure(7, 1 + 0.28 * len(names))
        axes = figure.add_subplot()
        for row, name in enumerate(names):
            agreement = drawn[name]
            axes.plot([agreement.spearman], [row], "o", color="black")
            if agreement.interval:
                axes.plot(agreement.interval, [row, row], color="black")
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color="grey", linewidth=0.5)
        axes.set_xlabel("Spearman's correlation with people, 95 % interval")
        for kind in ("svg", "png"):
            save_figure(figure, folder / f"agreement.{kind}")
    return []
