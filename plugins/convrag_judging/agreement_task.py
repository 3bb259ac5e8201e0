"""`task=agreement`: the agreement of scores in files with the scores of people, without running a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from omegaconf import DictConfig

from convrag import ConfigError, Task, UnknownName
from convrag.sdk.files import write_atomically
from convrag.sdk.strict_json import format_json


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
        from convrag_judging.agreement import measure_agreements
        from convrag_judging.ratings import group_ratings, read_ratings

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
        numbers = {name: agreement.as_dict() for name, agreement in agreements.items()}
        write_atomically(path, format_json(numbers, indent=2) + "\n")
        console = make_console()
        for name, agreement in agreements.items():
            console.print(agreement.describe(name), soft_wrap=True)
        console.print(f"Results: {path}", soft_wrap=True)
        return 0
