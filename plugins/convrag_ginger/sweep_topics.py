"""The words of the topics in a grid: topics.md lists them for each of its runs, with links to their plots."""

from __future__ import annotations

from collections import Counter

from convrag import DataError, Report
from convrag.sdk.tasks.scores import read_summary
from convrag.sdk.types import Cell, Sweep
from convrag_ginger.report import TITLE, format_topic_words
from convrag_ginger.topics import PLOT

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
