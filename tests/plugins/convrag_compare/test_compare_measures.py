"""Comparisons by several measures: which a factor moves, on which turns, and what is said of few
conversations.
"""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from comparisons import BAD, GOOD, MIXED, grid, run_result
from convrag_compare.leaderboard import build_leaderboard
from convrag_compare.report import compare_runs, find_missing_metrics
from convrag_compare.run_result import RunResult
from convrag_compare.tables import format_number, format_signed
from convrag_compare.terminal_tables import print_tables


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_compare.report.draw_plots", lambda board, folder: [])


def answered() -> list[RunResult]:
    """Four cells of which the clusterer moves the words of answers, and the ranker nothing; nDCG@5
    is the same.
    """
    cells = [
        ("lsa", "bm25", 50.0),
        ("lsa", "size", 50.0),
        ("kmeans", "bm25", 60.0),
        ("kmeans", "size", 60.0),
    ]
    return [run_result(f"clusterer={c} ranker={r}", MIXED, words=words) for c, r, words in cells]


def show(results: list[RunResult], metrics: list[str], width: int, folder: Path) -> str:
    console = Console(width=width, file=io.StringIO())
    print_tables(compare_runs(results, metrics, results[0], folder), {}, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_without_a_choice_the_main_measures_are_compared(tmp_path: Path) -> None:
    runs = [
        replace(each, summary=replace(each.summary, main_measures=main))
        for each, main in zip(
            answered(), [("words",), ("words", "R@5"), (), ("nosuch",)], strict=True
        )
        if each.summary
    ]
    assert compare_runs(runs, [], runs[0], tmp_path).numbers["metrics"] == ["words", "R@5"]
    assert compare_runs(answered(), [], None, tmp_path).numbers["metrics"] == ["nDCG@5"]
    assert compare_runs(answered(), ["BLEU", "R@5"], None, tmp_path).numbers["metrics"] == ["R@5"]


def test_the_first_measure_decides_and_the_next_one_among_equals(tmp_path: Path) -> None:
    made = compare_runs(answered(), ["nDCG@5", "words"], None, tmp_path)
    assert [row["levels"][0] for row in made.numbers["rows"]] == ["kmeans", "kmeans", "lsa", "lsa"]


def test_each_measure_has_its_interval_difference_and_p(tmp_path: Path) -> None:
    runs = grid()
    made = compare_runs(runs, ["R@5", "nDCG@5"], runs[0], tmp_path)
    head = made.files["leaderboard.md"].splitlines()[2]
    assert (
        "| R@5 [95 %] | to baseline [95 %] | p (Holm) | nDCG@5 [95 %] | to baseline [95 %] | p (Holm) |"
        in head
    )
    best = next(csv.DictReader(io.StringIO(made.files["leaderboard.csv"])))
    assert float(best["R@5_difference"]) == pytest.approx(float(best["nDCG@5_difference"]) / 2)
    assert float(best["R@5_p_holm"]) == float(
        best["nDCG@5_p_holm"]
    )  # each measure is corrected by itself


def test_a_factor_that_moves_nothing_that_is_shown_is_said(tmp_path: Path) -> None:
    runs = answered()
    made = compare_runs(runs, ["nDCG@5", "R@5"], runs[0], tmp_path)
    said = [
        "clusterer: no difference in nDCG@5, R@5; it moves words (effects.md).",
        "ranker: no difference in nDCG@5, R@5; it moves no measure at all.",
    ]
    assert list(made.lines[:2]) == said
    assert all(f"* {line}" in made.files["leaderboard.md"] for line in said)
    text = made.files["effects.md"]
    assert (
        "## clusterer\n\nIt moves words.\n\nNo difference in any of 2 pairs of runs: nDCG@5, R@5."
        in text
    )
    assert "| lsa - kmeans | -10.000 |" in text
    assert (
        "## ranker\n\nIt moves no measure.\n\nNo difference in any of 2 pairs of runs: nDCG@5, R@5, words."
        in text
    )
    assert "### ranker" not in text
    assert not [
        line
        for line in compare_runs(grid(), ["nDCG@5"], None, tmp_path).lines
        if "no difference" in line
    ]


def test_effects_hold_all_else_equal(tmp_path: Path) -> None:
    text = compare_runs(grid(), ["nDCG@5"], None, tmp_path).files["effects.md"]
    means = {
        name: sum(map(sum, values.values())) / 12
        for name, values in (("bad", BAD), ("mixed", MIXED))
    }
    assert f"| x | {format_number((means['bad'] + means['mixed']) / 2)} |" in text
    line, of_recall = re.findall(r"^\| a - b \|.*$", text, re.MULTILINE)
    expected = (means["bad"] - means["mixed"]) / 2  # with ranker=y they are alike
    assert f"| {format_signed(expected)} |" in line
    assert f"| {format_signed(expected / 2)} |" in of_recall
    assert line.endswith("| 2 |")


def test_runs_that_no_pair_tells_apart_have_means_alone(tmp_path: Path) -> None:
    runs = [run_result("rewriter=a ranker=x", BAD), run_result("rewriter=b ranker=y", GOOD)]
    text = compare_runs(runs, ["nDCG@5"], None, tmp_path).files["effects.md"]
    assert "No two runs differ in this factor alone" in text
    assert "| a | 0." in text
    assert "No difference in any" not in text
    assert not [
        line
        for line in compare_runs(runs, ["nDCG@5"], None, tmp_path).lines
        if "no difference" in line
    ]


def test_all_means_and_the_order_are_over_the_turns_that_all_share(tmp_path: Path) -> None:
    """The second run has the same answers, but only its best turns: it is no better, and stands no
    higher.
    """
    every = {f"c{n}": [0.9, 0.1, 0.0] for n in range(6)}
    picked = {name: turns[:1] for name, turns in every.items()}
    runs = [run_result("rewriter=a", every), run_result("rewriter=b", picked)]
    made = compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    said = "6 of 18 scored turns are shared by all runs (the runs have 6 and 18): all means are over these."
    assert said in made.lines
    assert f"* {said}" in made.files["leaderboard.md"]
    rows = list(csv.DictReader(io.StringIO(made.files["leaderboard.csv"])))
    assert [row["rewriter"] for row in rows] == ["a", "b"]
    assert [float(row["nDCG@5"]) for row in rows] == pytest.approx([0.9, 0.9])
    assert [float(row["R@5"]) for row in rows] == pytest.approx([0.45, 0.45])
    assert float(rows[1]["nDCG@5_difference"]) == 0
    assert rows[1]["nDCG@5_compared_turns"] == "6"


def test_a_measure_that_is_no_mean_over_turns_is_left_out_where_turns_differ() -> None:
    fewer = {name: turns[:1] for name, turns in GOOD.items()}
    runs = [run_result("rewriter=a", GOOD, words=5.0), run_result("rewriter=b", fewer, words=5.0)]
    for run in runs:  # the counts behind a BLEU are columns without a mean of their own
        run.summary.overall["BLEU"] = 7.0  # type: ignore[union-attr, index]
        del run.summary.overall["words"]  # type: ignore[union-attr, attr-defined]
    board = build_leaderboard(runs, ["nDCG@5"], None)
    assert "BLEU" not in board.measures
    assert "BLEU" in build_leaderboard([runs[0], runs[0]], ["nDCG@5"], None).measures


def test_runs_that_share_no_turn_are_not_ranked(tmp_path: Path) -> None:
    runs = [run_result("rewriter=a", BAD), run_result("rewriter=b", {"z": [1.0]})]
    made = compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert made.lines[0].startswith(
        "No scored turn is shared by all runs (the runs have 1 and 12): they cannot be"
    )
    assert [row["levels"] for row in made.numbers["rows"]] == [["a"], ["b"]]
    assert (
        "`rewriter=b`: shares no turn scored by nDCG@5 with the baseline."
        in made.files["leaderboard.md"]
    )


def test_a_run_without_a_measure_takes_no_turn_from_the_others() -> None:
    runs = [run_result("rewriter=a", GOOD, words=3.0), run_result("rewriter=b", GOOD)]
    board = build_leaderboard(runs, ["nDCG@5", "words"], runs[0])
    assert board.shared == []
    by_name = {row.result.name: row.scores["words"].mean for row in board.rows}
    assert by_name["rewriter=a"] == 3.0
    assert by_name["rewriter=b"] != by_name["rewriter=b"]
    assert find_missing_metrics(runs, ["words"]) == (
        "sweep.metric=words: 1 of 2 runs were not measured by it. All runs have nDCG@5, R@5."
    )


def test_fewer_than_five_conversations_have_no_interval_and_no_p(tmp_path: Path) -> None:
    few = [
        run_result(f"rewriter={name}", dict(list(each.items())[:4]))
        for name, each in (("a", BAD), ("b", GOOD))
    ]
    made = compare_runs(few, ["nDCG@5"], few[0], tmp_path)
    assert "No intervals and no p: n < 5 conversations." in made.lines
    texts = (
        made.files["leaderboard.md"],
        made.files["effects.md"],
        show(few, ["nDCG@5"], 120, tmp_path),
    )
    assert all("n < 5" in text for text in texts[:2])
    assert not any(re.search(r"\[[-+]?\d+\.", text) for text in texts)
    rows = list(csv.DictReader(io.StringIO(made.files["leaderboard.csv"])))
    assert {
        rows[0][f"nDCG@5_{name}"] for name in ("low", "high", "p", "p_holm", "difference_low")
    } == {""}
    assert float(rows[0]["nDCG@5_difference"]) > 0


def test_wide_terminals_have_one_table_and_narrow_ones_a_table_for_each_measure(
    tmp_path: Path,
) -> None:
    wide, narrow = (show(answered(), ["nDCG@5", "words"], width, tmp_path) for width in (120, 80))
    assert wide.count("clusterer  ranker") == 1
    assert "words, in the same order" in narrow
    assert narrow.count("clusterer  ranker") == 2
    for text, width in ((wide, 120), (narrow, 80)):
        assert max(map(len, text.splitlines())) <= width
        assert "..." not in text
