"""Labels of nuggets in any spelling, the nugget scores of TREC RAG and GINGER, and
`task=score_nuggets`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig, OmegaConf, open_dict

from convrag import ConfigError, Task

Importance = Literal["vital", "okay"]
Assignment = Literal["support", "partial", "none"]
LabelParser = Callable[[str], str | None]

SCORES = ("strict_vital", "vital", "strict_all", "all", "weighted")
"""The names of the scores, in the order in which they are reported. The first is V_strict."""

PARTIAL_CREDIT = 0.5
"""The credit for partial support, in the scores that are not strict (TREC RAG)."""

OKAY_WEIGHT = 0.5
"""The weight of an okay nugget in the weighted score; a vital one weighs 1 (TREC RAG)."""

_SEPARATORS = re.compile(r"[^a-z]+")
_ASSIGNMENTS: dict[str, Assignment] = {
    **dict.fromkeys(
        ("support", "supports", "supported", "full", "full_support", "fully_supported"), "support"
    ),
    **dict.fromkeys(("partial", "partially", "partial_support", "partially_support"), "partial"),
    **dict.fromkeys(("partially_supported", "partially_supports", "partly_supported"), "partial"),
    **dict.fromkeys(
        ("none", "no_support", "not_support", "not_supported", "unsupported", "non_support"), "none"
    ),
}
_IMPORTANCES: dict[str, Importance] = {
    "vital": "vital",
    **dict.fromkeys(("okay", "ok", "non_vital", "not_vital"), "okay"),
}


def parse_importance(label: str) -> Importance | None:
    """A label of importance in any case and spelling; None for anything else."""
    return _IMPORTANCES.get(_normalise(label))


def parse_assignment(label: str) -> Assignment | None:
    """A label of support in any case and spelling; None for anything else."""
    return _ASSIGNMENTS.get(_normalise(label))


@dataclass(frozen=True)
class NuggetSet:
    """The nuggets of a turn. `importance` has a label for each, or is empty where they have none."""

    texts: tuple[str, ...]
    importance: tuple[str, ...] = ()


@dataclass(frozen=True)
class NuggetLabels:
    """An assessor's labels for the answer of a turn; the nuggets' `texts` and the answer's `words` are optional."""

    assessor: str
    importance: tuple[str, ...]
    assignment: tuple[str, ...]
    texts: tuple[str, ...] = ()
    words: int | None = None


@dataclass(frozen=True)
class LabelPairs:
    """The importance and the assignment of each nugget of an answer.

    `unpaired` counts the labels that the longer of two lists had left, `unknown` the labels that
    could not be read.
    """

    pairs: tuple[tuple[Importance, Assignment], ...]
    unpaired: int = 0
    unknown: int = 0

    @classmethod
    def from_labels(cls, importance: Sequence[str], assignment: Sequence[str]) -> LabelPairs:
        """Pair two lists of labels up to the end of the shorter one; unknown labels count as okay,
        or as none.
        """
        parsed = [
            (parse_importance(a), parse_assignment(b))
            for a, b in zip(importance, assignment, strict=False)
        ]
        return cls(
            tuple((vital or "okay", support or "none") for vital, support in parsed),
            abs(len(importance) - len(assignment)),
            sum(label is None for pair in parsed for label in pair),
        )

    def compute_scores(self) -> dict[str, float]:
        """The five scores by name, each between 0 and 1; 0 where there is nothing to divide by."""
        vital = [assignment for importance, assignment in self.pairs if importance == "vital"]
        okay = [assignment for importance, assignment in self.pairs if importance == "okay"]
        weights = len(vital) + OKAY_WEIGHT * len(okay)
        values = (
            _divide(_count_full(vital), len(vital)),
            _divide(_sum_credit(vital), len(vital)),
            _divide(_count_full([*vital, *okay]), len(self.pairs)),
            _divide(_sum_credit([*vital, *okay]), len(self.pairs)),
            _divide(_sum_credit(vital) + OKAY_WEIGHT * _sum_credit(okay), weights),
        )
        return dict(zip(SCORES, values, strict=True))


def scores(importance: Iterable[str], assignment: Iterable[str]) -> dict[str, float]:
    """The five nugget scores of an answer.

        scores(["vital", "okay"], ["support", "partial_support"])["strict_vital"]

    Args:
        importance: "vital" or "okay" for each nugget, in any case.
        assignment: "support", "partial" or "none" for each nugget, also as "partial_support",
            "not_support" and the like. Of two lists of unequal length, the rest of the longer one
            does not count.
    """
    return LabelPairs.from_labels(list(importance), list(assignment)).compute_scores()


def _count_full(assignments: Iterable[Assignment]) -> int:
    return sum(label == "support" for label in assignments)


def _sum_credit(assignments: Sequence[Assignment]) -> float:
    return _count_full(assignments) + PARTIAL_CREDIT * sum(
        label == "partial" for label in assignments
    )


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _normalise(label: str) -> str:
    """Lower case, with one underscore between words."""
    return _SEPARATORS.sub("_", label.lower()).strip("_")


class ScoreNuggetsTask(Task):
    """Compute nugget scores from files of importance and assignment labels, such as published ones.

    A line is {"turn_id": ..., "importance": ["vital", ...], "assignment": ["support", ...]}, or has
    "nuggets" with text, importance and assignment each, as castorini's nuggetizer writes them
    ("qid" will do for the id). Each file is an assessor, unless its lines name theirs; scores are
    averaged over assessors. The files of a run are written to the folder of this command, so that
    task=compare can compare it with runs.

    Args:
        judgements: JSONL files of labels.
    """

    def __init__(self, *, judgements: list[Path]) -> None:
        if not judgements:
            raise ConfigError("task.judgements is empty: task.judgements=[FILE]")
        self.judgements = list(judgements)

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Score the judgements, write the files of a run and print the summary."""
        from convrag import TurnRecord
        from convrag.sdk.groups import OPTION_KEY
        from convrag.sdk.tasks.runs import evaluate_records
        from convrag.sdk.tasks.scores import print_summary
        from convrag_judging.agreement import SEPARATOR
        from convrag_judging.judgement_files import read_nugget_labels

        turns = read_nugget_labels(self.judgements)
        chosen = {OPTION_KEY: "nuggets", "judgements": [str(path) for path in self.judgements]}
        config = OmegaConf.masked_copy(config, [str(name) for name in config])
        with open_dict(config):
            config.metrics = {"nuggets": chosen}
        records = [
            TurnRecord(turn_id.partition(SEPARATOR)[0], turn_id, "default", 1, "")
            for turn_id in turns
        ]
        _, summary = evaluate_records(config, folder, records, show=print_summary)
        return summary.exit_status
