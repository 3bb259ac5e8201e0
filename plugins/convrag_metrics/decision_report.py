"""The report on decisions to answer, in whole or in part, to refuse, or to ask back.

It has a table of labels and outcomes, the AUC of each signal, and a calibration plot.
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
from convrag_metrics.answerability_labels import ANSWERABLE
from convrag_metrics.idk import detect_idk_answer

OUTCOMES = {
    "ANSWERABLE": "answered",
    "PARTIAL": "in part",
    "UNANSWERABLE": "refused",
    "UNDERSPECIFIED": "asked back",
}
"""The four labels, and the right outcome of a turn with each."""

PLOT = "calibration.svg"


class Decision(NamedTuple):
    """The decision of a turn.

    Args:
        outcome: the label for which what the answer does would be right.
        label: the label of the turn.
        trace: the decision in the turn's record, with the values of signals.
    """

    outcome: str
    label: str
    trace: Mapping[str, Any]

    @property
    def signals(self) -> Mapping[str, float]:
        """Name of a signal -> its value; empty without signals."""
        signals: Mapping[str, float] = self.trace.get("signals", {})
        return signals


def read_decision(label: str, record: TurnRecord) -> Decision:
    """Read the decision of a turn from its trace, or else from its answer."""
    trace = record.trace.get("generator", {}).get("decision", {})
    if not isinstance(trace, Mapping):
        trace = {}
    idk = detect_idk_answer(record)
    if trace.get("outcome") == "asked" or _asks_back(record.answer.text):
        outcome = "UNDERSPECIFIED"
    elif idk == "yes":
        outcome = "UNANSWERABLE"
    elif idk == "partly" or trace.get("outcome") == "partial":
        outcome = "PARTIAL"
    else:
        outcome = "ANSWERABLE"
    return Decision(outcome, label, trace)


_LIST_ITEM = re.compile(r"(?:\d{1,2}[.)]|[-*•]) +\S")


def _asks_back(answer: str) -> bool:
    """Whether an answer is nothing but a question, in one sentence or with a list of choices.

    It reads the answers of any system; records that are made of files have no decision.
    """
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if not lines:
        return False
    question, *choices = lines
    if not question.endswith("?") or "[" in question:
        return False
    if choices:
        return all(_LIST_ITEM.match(choice) for choice in choices)
    return not re.search(r"[.!?]\s", question)


def compute_aucs(
    decisions: Sequence[Decision], positive: Sequence[str], negative: Sequence[str]
) -> dict[str, float]:
    """Compute the AUC of each signal.

    It is the share of pairs in which the turn with a positive label has the higher value; equal
    values count half. A signal that one of the two sides lacks has none.
    """
    aucs = {}
    for name in dict.fromkeys(name for decision in decisions for name in decision.signals):
        high = _list_values(decisions, name, positive)
        low = sorted(_list_values(decisions, name, negative))
        if high and low:
            below = sum(bisect_left(low, value) + bisect_right(low, value) for value in high)
            aucs[name] = round(below / (2 * len(high) * len(low)), 4)
    return aucs


def _list_values(decisions: Sequence[Decision], signal: str, labels: Sequence[str]) -> list[float]:
    """List the values of a signal in the turns with one of these labels."""
    return [
        decision.signals[signal]
        for decision in decisions
        if decision.label in labels and signal in decision.signals
    ]


def report_decisions(decisions: Sequence[Decision]) -> Report:
    """Report on turns with one of the four labels."""
    table = Counter((decision.label, decision.outcome) for decision in decisions)
    lines = []
    for label in OUTCOMES:
        counts = [
            f"{table[label, outcome]} {name}"
            for outcome, name in OUTCOMES.items()
            if table[label, outcome]
        ]
        lines.append(f"{label.lower()}: {', '.join(counts) or 'none'}")

    answer_aucs = compute_aucs(decisions, ANSWERABLE, ("UNANSWERABLE",))
    ask_aucs = compute_aucs(
        decisions, ("UNDERSPECIFIED",), ("ANSWERABLE", "PARTIAL", "UNANSWERABLE")
    )
    lines += _describe_aucs("answerable over unanswerable", answer_aucs)
    lines += _describe_aucs("underspecified over the others", ask_aucs)
    disagreements = [
        decision.trace["disagrees"] for decision in decisions if "disagrees" in decision.trace
    ]
    if disagreements:
        lines.append(
            f"the model disagrees with the signals in {sum(disagreements)} of "
            f"{len(disagreements)} turns"
        )
    numbers = {
        "table": {
            label: {outcome: table[label, outcome] for outcome in OUTCOMES} for label in OUTCOMES
        },
        "auc_answer": answer_aucs,
        "auc_ask": ask_aucs,
        "disagreements": sum(disagreements),
    }
    ranked = sorted(
        (
            (decision.signals["confidence"], decision.label)
            for decision in decisions
            if "confidence" in decision.signals
        ),
        reverse=True,
    )
    files = {}
    if ranked and find_spec("matplotlib"):
        files[PLOT] = _draw_calibration([label for _, label in ranked], table)
    return Report("decisions", tuple(lines), numbers, files)


def _describe_aucs(title: str, aucs: Mapping[str, float]) -> list[str]:
    if not aucs:
        return []
    figures = ", ".join(f"{name} {value:.2f}" for name, value in aucs.items())
    return [f"AUC, {title}: {figures}"]


def _draw_calibration(labels: Sequence[str], table: Mapping[tuple[str, str], int]) -> str:
    """Draw, as SVG, what share of the answered turns can be answered, as more are answered.

    A dot shows the run itself.

    Args:
        labels: the labels of turns, those with the highest confidence first.
        table: (label, outcome) -> number of turns.
    """
    from matplotlib import rc_context

    answerable = accumulate(label in ANSWERABLE for label in labels)
    points = [(n / len(labels), right / n) for n, right in enumerate(answerable, 1)]
    with rc_context(STYLE):
        figure = make_figure(5.2, 3.6)
        axes = figure.add_subplot(
            xlim=(0, 1.02),
            ylim=(0, 1.02),
            title=f"Calibration of {len(labels)} turns",
            xlabel="share of turns that are answered",
            ylabel="share of these that can be answered",
        )
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, color="#08519c", lw=1.4, label="by confidence")
        answered = _count_answered(table, OUTCOMES)
        if answered:
            share_answered = answered / sum(table.values())
            share_right = _count_answered(table, ANSWERABLE) / answered
            axes.plot(share_answered, share_right, "o", color="black", label="this run")
        axes.legend(loc="lower left")
        svg = StringIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


def _count_answered(table: Mapping[tuple[str, str], int], labels: Iterable[str]) -> int:
    """Count the turns with one of these labels that were answered, in whole or in part."""
    return sum(table.get((label, outcome), 0) for label in labels for outcome in ANSWERABLE)
