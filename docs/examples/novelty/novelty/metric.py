"""`metrics=novelty`: the share of an answer's word sequences that no earlier answer had, and a plot
by turn.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from convrag import Measurement, Metrics, Report, TurnRecord
from novelty.plot import draw_curve


class NoveltyMetrics(Metrics):
    """Measure how much of each answer is new in its conversation: answer_novelty, from 0 to 1.

    It is the share of the answer's sequences of words that are in no earlier answer. First answers,
    and answers shorter than a sequence, are left out. The run's folder gets novelty.svg, the mean
    by turn.

    Args:
        length: words of a sequence.
    """

    reads = ("answer",)

    def __init__(self, *, length: int = 3) -> None:
        self.length = length

    def list_measures(self) -> Sequence[str]:
        return ("answer_novelty",)

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Return turn id -> answer_novelty -> share, with a report of its means by turn."""
        heard: dict[str, set[tuple[str, ...]]] = {}
        values: dict[str, dict[str, float]] = {}
        by_turn: dict[int, list[float]] = defaultdict(list)
        for record in sorted(records, key=lambda record: record.number):
            said = self._list_sequences(record.answer.text)
            earlier = heard.setdefault(record.conversation_id, set())
            if said and earlier:
                share = fmean(sequence not in earlier for sequence in said)
                values[record.turn_id] = {"answer_novelty": share}
                by_turn[record.number].append(share)
            earlier.update(said)
        means = {turn: fmean(shares) for turn, shares in by_turn.items()}
        return Measurement(values, report=_report_means(means) if means else None)

    def _list_sequences(self, text: str) -> list[tuple[str, ...]]:
        words = re.findall(r"\w+", text.casefold())
        return [
            tuple(words[start : start + self.length])
            for start in range(len(words) - self.length + 1)
        ]


def _report_means(means: Mapping[int, float]) -> Report:
    shown = ", ".join(f"turn {turn}: {mean:.0%}" for turn, mean in means.items())
    return Report(
        "Novelty",
        lines=(f"Share of an answer that is new: {shown}",),
        numbers={str(turn): mean for turn, mean in means.items()},
        files={"novelty.svg": draw_curve(means, "turn", "share that is new")},
    )
