"""The report of a run with GINGER: answered turns, sentences and topics; and the topics of the runs of a grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from io import StringIO
from typing import Any

from convrag import DataError, Report, TurnRecord
from convrag.sdk.types import Cell, Sweep

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


TITLE = "ginger"

_LISTED = 10
"""The most words of topics that the summary lists; metrics.json has 50, the plot 25."""


def report_outcomes(records: Iterable[TurnRecord]) -> Report | None:
    """Count outcomes, nuggets, sentences and words of topics; None where another generator, or none, answered."""
    counts: Counter[str] = Counter(
        answered=0, single=0, unanswerable=0, nuggets=0, sentences=0, reduced=0, left_out=0, unsupported=0
    )
    words: Counter[str] = Counter()
    for record in records:
        trace = record.trace.get("generator", {})
        if "outcome" in trace:
            words += count_topic_words([trace])
            sentences = trace.get("sentences", ())
            counts[str(trace["outcome"])] += 1
            counts["nuggets"] += len(trace["nuggets"])
            counts["sentences"] += len(sentences)
            counts["reduced"] += trace.get("reduced", 0)
            counts["left_out"] += trace.get("left_out", 0)
            counts["unsupported"] += sum(not sentence["supported"] for sentence in sentences)
    if not counts["answered"] + counts["single"] + counts["unanswerable"]:
        return None  # no turn was answered by this generator, as where answers come from a file
    line = (
        f"{counts['answered'] + counts['single']} turns answered from {counts['nuggets']} nuggets "
        f"({counts['single']} of them from a single one), {counts['unanswerable']} unanswerable; "
        f"{counts['sentences']} sentences, {counts['reduced']} of them reduced to a quotation, "
        f"{counts['left_out']} left out, {counts['unsupported']} flagged as unsupported"
    )
    if not words:
        return Report(TITLE, (line,), dict(counts))
    topics = f"words of topics, with the number of clusters: {format_topic_words(words)}"
    numbers = {**counts, "topic_words": dict(rank_words(words, 50))}
    return Report(TITLE, (line, topics), numbers, plot_topic_words(words))


def format_topic_words(words: Counter[str]) -> str:
    """The words that most clusters have, with their numbers: "moon (28), space (18)"."""
    return ", ".join(f"{word} ({number})" for word, number in rank_words(words, _LISTED))


_FILE = "topics.md"
_CAPTION = (
    "For each run the words of its topics that most clusters of nuggets have, with the number of these clusters. The "
    "runs whose clusterer describes no topics are left out."
)


def report_topics(sweep: Sweep) -> Report | None:
    """List the words of the topics for each run of a grid; None where no run has any."""
    rows = [_format_row(cell, words) for cell in sweep.cells if (words := _read_topic_words(cell))]
    if not rows:
        return None
    table = "\n".join(["| run | words of topics | plot |", "| --- | --- | --- |", *rows])
    text = f"# Words of the topics\n\n{_CAPTION}\n\n{table}\n"
    return Report("topics", (f"Words of topics: {sweep.folder / _FILE}",), files={_FILE: text})


def _read_topic_words(cell: Cell) -> Counter[str]:
    """Word -> number of clusters, as the run's own report counts them; empty for a run that has none."""
    from convrag.sdk.tasks.scores import read_summary  # it imports numpy

    if cell.same_as or cell.state not in ("ok", "reused", "partial"):
        return Counter()
    try:
        reports = read_summary(cell.folder / "metrics.json").reports
    except DataError:
        return Counter()  # the leaderboard says so
    return Counter(reports.get(TITLE, {}).get("topic_words", {}))


def _format_row(cell: Cell, words: Counter[str]) -> str:
    plot = f"[{PLOT}]({cell.folder.name}/{PLOT})" if (cell.folder / PLOT).is_file() else ""
    cells = (f"`{cell.name or cell.id}`", format_topic_words(words), plot)
    return f"| {' | '.join(text.replace('|', '&#124;') for text in cells)} |"
