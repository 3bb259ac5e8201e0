"""`task=agreement`: how far scores agree with those of people, without running anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig

from convrag import ConfigError, Task, UnknownName


class AgreementTask(Task):
    """Compare scores of answers with those of people: Kendall's tau-b and Krippendorff's alpha by criterion.

    A line of a file is {"turn_id": ..., "criterion": ..., "score": ..., "annotator": ...}, or holds several "scores" by
    criterion, as the scores.jsonl of any run does. Several files of scores are several judges. agreement.json in the
    folder of this command has the figures.

    Args:
        scores: JSONL files of scores to be checked: a run's judgements.jsonl or scores.jsonl, or any other.
        human: JSONL files of people's scores.
        measure: compare this measure of the scores with every criterion of the people's, whatever its name; None
            compares what has the same name.
        level: of the scale, for Krippendorff's alpha.
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
        """Read the files, write the figures and print them."""
        from rich.console import Console

        from convrag_judging.agreement import agreements
        from convrag_judging.opinions import grouped, read_opinions

        scores, human = grouped(read_opinions(self.scores)), grouped(read_opinions(self.human))
        if self.measure is not None:
            if self.measure not in scores:
                raise UnknownName("task.measure: measure", self.measure, scores)
            scores = dict.fromkeys(human, scores[self.measure])
        found = agreements(scores, human, self.level)
        if not found:
            raise ConfigError(
                f"people scored {', '.join(human)}, and the scores are of {', '.join(scores)}: there is nothing of the "
                "same name to compare. task.measure=... compares a measure whatever its name"
            )
        if not any(agreement.turns for agreement in found.values()):
            raise ConfigError("no turn has both scores and people's scores: do the files have the same turn ids?")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "agreement.json"
        numbers = {name: agreement.numbers() for name, agreement in found.items()}
        path.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
        console = Console()
        for name, agreement in found.items():
            console.print(agreement.sentence(name), highlight=False, markup=False, soft_wrap=True)
        console.print(f"Results: {path}", highlight=False, markup=False, soft_wrap=True)
        return 0
