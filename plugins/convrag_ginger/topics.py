"""The words of the topics of a run with GINGER, counted over its clusters, and their plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from typing import Any

PLOT = "topics.svg"
"""The plot's file, in the folder of its run."""

_PLOTTED = 25
"""The most words in the plot."""


def count_topic_words(traces: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Word -> number of clusters that have it among the words of their topic, over the traces of the generator."""
    return Counter(
        word for trace in traces for cluster in trace.get("clusters", ()) for word in cluster.get("words", ())
    )


def rank_words(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    """The words of most clusters, with the number of these; of equal ones in alphabetical order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def plot_topic_words(counts: Counter[str]) -> dict[str, str]:
    """Draw how many clusters have each word: {"topics.svg": an SVG}; nothing where matplotlib is not installed."""
    if not counts or not find_spec("matplotlib"):
        return {}
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    words, numbers = _split(rank_words(counts, _PLOTTED))
    with rc_context({"svg.hashsalt": "convrag", "svg.fonttype": "none"}):  # the same file each time, with its words
        figure = Figure(figsize=(6.4, 0.6 + 0.24 * len(words)), layout="constrained")
        axes = figure.add_subplot()
        axes.barh(range(len(words)), numbers, color="0.6", edgecolor="black")
        axes.set_yticks(range(len(words)), words)
        axes.invert_yaxis()
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("clusters of nuggets")
        axes.set_title("Words of the topics", loc="left")
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return {PLOT: text.getvalue()}


def _split(pairs: Sequence[tuple[str, int]]) -> tuple[list[str], list[int]]:
    return [word for word, _ in pairs], [number for _, number in pairs]
