"""What was found out about the answer in one turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convrag_judging.scoring import SCORES, Labels

FEW, NO_PASSAGES, NO_NUGGETS, NOT_JUDGED = "few", "no_passages", "no_nuggets", "not_judged"
"""Why a turn is not scored."""


@dataclass(frozen=True)
class Assessment:
    """What one assessor said: the labels of each nugget, as they were given, and what they come to."""

    assessor: str
    texts: Sequence[str]
    importance: Sequence[str]
    assignment: Sequence[str]
    left_open: int = 0

    @property
    def labels(self) -> Labels:
        """The labels in pairs."""
        return Labels.of(self.importance, self.assignment)

    @classmethod
    def closed(
        cls, assessor: str, texts: Sequence[str], importance: Sequence[str], assignment: Sequence[str]
    ) -> Assessment:
        """One from labels of which some were left open (""): such nuggets do not count."""
        rows = list(zip(texts, importance, assignment, strict=True))
        known = [row for row in rows if row[1] and row[2]]
        columns = zip(*known, strict=True) if known else ((), (), ())
        return cls(assessor, *columns, left_open=len(rows) - len(known))  # type: ignore[misc]


@dataclass(frozen=True)
class Verdict:
    """The assessments of a turn, or why there is none; `words` is the length of the answer that was judged."""

    turn_id: str
    assessments: tuple[Assessment, ...] = ()
    words: int | None = None
    left_out: str = ""
    problems: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, turn_id: str, assessments: Iterable[Assessment], words: int | None, problems: Sequence[str] = ()
    ) -> Verdict:
        """A turn with what models said of it; one that left every nugget open said nothing."""
        said = tuple(assessment for assessment in assessments if assessment.labels.pairs)
        return cls(turn_id, said, words, "" if said else NOT_JUDGED, tuple(problems))

    def scores(self) -> dict[str, float]:
        """The means over the assessors, by the name of the measure; empty where the turn is not scored."""
        each = [assessment.labels for assessment in self.assessments]
        if not each:
            return {}
        found = [labels.scores() for labels in each]
        values = {f"nuggets_{name}": sum(scores[name] for scores in found) / len(found) for name in SCORES}
        values["nuggets_count"] = sum(len(labels.pairs) for labels in each) / len(each)
        return values | ({} if self.words is None else {"nuggets_words": float(self.words)})
