"""Whether the right turns were answered, in whole or in part, refused, or asked back: a table, AUCs
and a plot.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from itertools import accumulate
from typing import Any, NamedTuple

from convrag import Report, TurnRecord
from convrag.sdk.output.plots import STYLE, make_figure
from convrag_metrics.idk import ANSWERABLE, detect_idk_answer

SAID = {
    "ANSWERABLE": "answered",
    "PARTIAL": "in part",
    "UNANSWERABLE": "refused",
    "UNDERSPECIFIED": "asked back",
}
"""The four labels, and what becomes of a turn that is treated as one that has the label."""

PLOT = "calibration.svg"


class Treatment(NamedTuple):
    """As which of the four a turn was treated, its label, and the decision in its record."""

    said: str
    label: str
    decision: Mapping[str, Any]

    @classmethod
    def of(cls, label: str, record: TurnRecord) -> "Treatment":
        """Read it from the decision, or else from the answer."""
        decision = record.trace.get("generator", {}).get("decision", {})
        decision = decision if isinstance(decision, Mapping) else {}
        idk = detect_idk_answer(record)
        said = "UNANSWERABLE" if idk == "yes" else "PARTIAL" if idk == "partly" else "ANSWERABLE"
        if decision.get("outcome") == "asked" or _asks_back(record.answer.text):
            said = "UNDERSPECIFIED"
        elif decision.get("outcome") == "partial" and said == "ANSWERABLE":
            said = "PARTIAL"
        return cls(said, label, decision)


_ITEM = re.compile(r"(?:\d{1,2}[.)]|[-*•]) +\S")


def _asks_back(answer: str) -> bool:
    """Whether an answer is nothing but a question, in one sentence or with a list of choices.

    It reads the answers of any system, which records of a file have without a decision.
    """
    question, *choices = [line.strip() for line in answer.splitlines() if line.strip()] or [""]
    if not question.endswith("?") or "[" in question:
        return False
    if choices:
        return all(_ITEM.match(choice) for choice in choices)
    return not re.search(r"[.!?]\s", question)


def compute_aucs(
    turns: Sequence[Treatment], positive: Sequence[str], negative: Sequence[str]
) -> dict[str, float]:
    """Compute the AUC of each signal: the share of pairs in which the turn with a positive label
    has the higher value.

    Equal values count half. A signal that one of the two sides lacks has none.
    """
    aucs = {}
    signals = [(turn.label, turn.decision.get("signals", {})) for turn in turns]
    for name in dict.fromkeys(name for _, each in signals for name in each):
        high, low = (
            sorted(v[name] for label, v in signals if label in s and name in v)
            for s in (positive, negative)
        )
        if high and low:
            below = sum(bisect_left(low, value) + bisect_right(low, value) for value in high)
            aucs[name] = round(below / (2 * len(high) * len(low)), 4)
    return aucs


def report_decisions(turns: Sequence[Treatment]) -> Report:
    """Report on turns with one of the four labels: how each was treated, the AUCs of the signals,
    and the plot.
    """
    table = Counter((turn.label, turn.said) for turn in turns)
    lines = []
    for label in SAID:
        counts = (
            f"{table[label, each]} {said}" for each, said in SAID.items() if table[label, each]
        )
        lines.append(f"{label.lower()}: {', '.join(counts) or 'none'}")
    answer = compute_aucs(turns, ANSWERABLE, ("UNANSWERABLE",))
    ask = compute_aucs(turns, ("UNDERSPECIFIED",), list(SAID)[:3])
    for name, found in (
        ("answerable over unanswerable", answer),
        ("underspecified over the others", ask),
    ):
        lines += (
            [f"AUC, {name}: {', '.join(f'{key} {value:.2f}' for key, value in found.items())}"]
            if found
            else []
        )
    disagree = [turn.decision["disagrees"] for turn in turns if "disagrees" in turn.decision]
    if disagree:
        lines.append(
            f"the model disagrees with the signals in {sum(disagree)} of {len(disagree)} turns"
        )
    numbers = {label: {each: table[label, each] for each in SAID} for label in SAID}
    signals = [(turn.decision.get("signals", {}), turn.label) for turn in turns]
    ranked = [(each["confidence"], label) for each, label in signals if "confidence" in each]
    files = (
        {PLOT: _draw(sorted(ranked, reverse=True), table)}
        if ranked and find_spec("matplotlib")
        else {}
    )
    rest = {"auc_answer": answer, "auc_ask": ask, "disagreements": sum(disagree)}
    return Report("decisions", tuple(lines), {"table": numbers, **rest}, files)


def _draw(ranked: Iterable[tuple[float, str]], table: Mapping[tuple[str, str], int]) -> str:
    """The share of turns answered against the share of these that can be, as the level falls; and
    this run's.
    """
    from matplotlib import rc_context

    rights = list(accumulate(label in ANSWERABLE for _, label in ranked))
    answered = {label: sum(table.get((label, said), 0) for said in ANSWERABLE) for label in SAID}
    number = sum(answered.values())
    with rc_context(STYLE):
        figure, text = make_figure(5.2, 3.6), StringIO()
        axes = figure.add_subplot(
            xlim=(0, 1.02), ylim=(0, 1.02), title=f"Calibration of {len(rights)} turns"
        )
        axes.set(
            xlabel="share of turns that are answered", ylabel="share of these that can be answered"
        )
        curve = [(n / len(rights), right / n) for n, right in enumerate(rights, 1)]
        axes.plot(*zip(*curve, strict=True), color="#08519c", lw=1.4, label="by confidence")
        if number:
            place = (
                number / sum(table.values()),
                sum(answered[label] for label in ANSWERABLE) / number,
            )
            axes.plot(*place, "o", color="black", label="this run")
        axes.legend(loc="lower left")
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
