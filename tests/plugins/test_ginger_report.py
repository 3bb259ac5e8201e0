from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from convrag.api.records import Cell, RunSummary, Sweep, TurnRecord
from convrag.score.summary import format_summary
from convrag_ginger.report import report_topics
from ginger_toys import COFFEE, TEA, Says, Subjects, answer, ginger


def test_the_report_counts_outcomes() -> None:
    answers = [
        answer(ginger(), TEA),
        answer(ginger()),
        answer(ginger(summarizer=Says("Ann has 5.")), "Ann drinks tea."),
    ]
    records = [TurnRecord("c", f"t{n}", "d", n, "?", trace={"generator": a.trace}) for n, a in enumerate(answers)]
    report = ginger().report([*records, TurnRecord("c", "t", "d", 9, "?", error="down")])
    assert report is not None
    assert report.numbers == {
        "answered": 1,
        "single": 1,
        "unanswerable": 1,
        "nuggets": 4,
        "sentences": 4,
        "reduced": 1,
        "left_out": 0,
        "unsupported": 0,
    }
    assert "1 unanswerable; 4 sentences, 1 of them reduced to a quotation" in report.lines[0]
    assert ginger().report([TurnRecord("c", "t", "d", 9, "?", error="down")]) is None


class Topics(Subjects):
    """Describes each cluster by the second words of its texts."""

    def describe(self, texts: Sequence[str], labels: Sequence[int]) -> dict[int, list[str]]:
        groups: dict[int, list[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            groups.setdefault(label, []).append(text.split()[1])
        return groups


def test_topic_words_stand_in_the_trace_the_report_and_a_plot() -> None:
    generator = ginger(clusterer=Topics())
    traces = [answer(generator, TEA, COFFEE).trace, answer(generator, TEA, COFFEE).trace]
    assert [cluster["words"] for cluster in traces[0]["clusters"]] == [
        ["drinks", "grows", "sells"],
        ["roasts", "drinks"],
    ]
    report = generator.report(
        [TurnRecord("c", f"t{n}", "d", n, "?", trace={"generator": trace}) for n, trace in enumerate(traces)]
    )
    assert report is not None
    assert report.lines[1] == (
        "words of topics, with the number of clusters: drinks (4), grows (2), roasts (2), sells (2)"
    )
    assert report.numbers["topic_words"] == {"drinks": 4, "grows": 2, "roasts": 2, "sells": 2}
    pytest.importorskip("matplotlib")
    assert all(word in report.files["topics.svg"] for word in ("drinks", "grows", "roasts", "sells"))
    again = generator.report([TurnRecord("c", "t", "d", 1, "?", trace={"generator": trace}) for trace in traces])
    assert again is not None
    assert again.files == report.files


def test_a_grid_lists_the_words_of_topics_for_each_run(tmp_path: Path) -> None:
    """They stood in each run's own folder alone."""

    def cell(name: str, reports: dict[str, dict[str, Any]], **given: Any) -> Cell:
        folder = tmp_path / name
        folder.mkdir()
        usage: dict[str, Any] = {"fallbacks": {}, "usage": {}, "timings": {}, "seconds": 1.0}
        summary = RunSummary({}, {}, {"overall": 0}, turns=1, failed=0, reports=reports, **usage)
        (folder / "metrics.json").write_text(format_summary(summary))
        return Cell(name, (), folder, **({"state": "ok", "name": f"clusterer={name}"} | given))

    words = {f"word{n:02}": 40 - n for n in range(12)}
    cells = (
        cell("lsa", {"ginger": {"lines": [], "answered": 1}}),
        cell("bertopic", {"ginger": {"lines": [], "answered": 1, "topic_words": words}}),
        cell("copy", {"ginger": {"lines": [], "topic_words": words}}, same_as="bertopic", state="same"),
        Cell("late", (), tmp_path / "late", "failed"),
    )
    assert report_topics(Sweep("s", tmp_path, cells[:1])) is None
    (tmp_path / "bertopic" / "topics.svg").write_text("<svg/>")
    report = report_topics(Sweep("s", tmp_path, cells))
    assert report is not None
    assert report.lines == (f"Words of topics: {tmp_path / 'topics.md'}",)
    (row,) = [line for line in report.files["topics.md"].splitlines() if line.startswith("| `")]
    assert row.startswith("| `clusterer=bertopic` | word00 (40), word01 (39), ")
    assert row.endswith(" word09 (31) | [topics.svg](bertopic/topics.svg) |")
