"""What a comparison calls its runs, and its table for LaTeX: chosen columns, the best in bold, significance marked."""

import io
from pathlib import Path

import pytest

from comparisons import BAD, GOOD, grid, run_result
from convrag.api.errors import ConfigError
from convrag_compare.find_runs import name_runs
from convrag_compare.leaderboard_files import escape_latex
from convrag_compare.report import compare_runs, find_unknown_columns
from convrag_compare.run_result import RunResult
from convrag_compare.tables import print_tables, shorten_all


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_compare.report.draw_plots", lambda board, folder: [])


def make_latex(results: list[RunResult], folder: Path, *columns: str) -> list[str]:
    """The lines of leaderboard.tex that are no comments."""
    made = compare_runs(results, ["nDCG@5"], results[0], folder, columns=columns)
    return [line for line in made.files["leaderboard.tex"].splitlines() if not line.startswith("%")]


def test_the_best_is_bold_and_significance_is_marked(tmp_path: Path) -> None:
    better = {f"c{n}": [0.9, 0.8] for n in range(12)}
    alike = {name: [0.9, 0.8001] for name in better}
    worse = {f"c{n}": [0.2, 0.1 + 0.01 * n] for n in range(12)}
    runs = [run_result(f"rewriter={n}", v) for n, v in (("none", worse), ("a_b", better), ("c", alike))]
    made = compare_runs(runs, ["nDCG@5"], runs[0], tmp_path).files["leaderboard.tex"]
    rows = made.partition("\\midrule\n")[2].splitlines()
    assert sorted(rows[:2]) == [r"a\_b & \textbf{0.850}\rlap{$^{**}$} \\", r"c & \textbf{0.850}\rlap{$^{**}$} \\"]
    assert rows[2] == r"none & 0.178 \\"
    assert "% Against rewriter=none, *: p < 0.05, **: p < 0.01" in made
    assert r"\begin{tabular}{lr}" in made


def test_columns_are_chosen(tmp_path: Path) -> None:
    lines = make_latex(grid(), tmp_path, "R@5", "rewriter")
    assert lines[:3] == [r"\begin{tabular}{lr}", r"\toprule", r"rewriter & R@5 \\"]
    assert make_latex(grid(), tmp_path)[2] == r"rewriter & ranker & nDCG@5 \\"
    assert find_unknown_columns(grid(), ["R@5", "ranker"]) == ""
    assert find_unknown_columns(grid(), ["BLEU"]) == (
        "task.columns: 'BLEU' is no measure and no factor of these runs. They have nDCG@5, R@5, rewriter, ranker."
    )


def test_a_partial_run_and_a_missing_score_are_marked(tmp_path: Path) -> None:
    runs = [run_result("rewriter=a", GOOD, failed=1), RunResult("rewriter=b", {"rewriter": "b"}, "failed")]
    made = compare_runs(runs, ["nDCG@5"], runs[0], tmp_path).files["leaderboard.tex"]
    assert r"a$^{\dagger}$ & \textbf{0.850} \\" in made
    assert r"b & -- \\" in made
    assert "% A dagger marks a partial run" in made


def test_special_signs_of_latex() -> None:
    assert escape_latex("x|y & $z a_b 95 %") == r"x\textbar{}y \& \$z a\_b 95 \%"


def test_names_stand_for_overrides(tmp_path: Path) -> None:
    runs = name_runs(grid(), ["one", "two", "three", "four"])
    made = compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert made.numbers["factors"] == ["run"]
    assert {row["levels"][0] for row in made.numbers["rows"]} == {"one", "two", "three", "four"}
    assert made.numbers["baseline"] == "run=one"
    with pytest.raises(ConfigError, match=r"2 names for 4 runs. The runs are, in order:\n  rewriter=a ranker=x"):
        name_runs(grid(), ["one", "two"])
    with pytest.raises(ConfigError, match="two runs are named 'one'"):
        name_runs(grid()[:2], ["one", "one"])


def test_long_paths_are_shortened_by_what_they_share_and_break_behind_slashes(tmp_path: Path) -> None:
    from rich.console import Console

    deep = "/data/experiments/2026/november/" + "a_rather_long_folder_name/" * 3
    runs = [run_result(f"rewriter.path={deep}{name}/rewrites.jsonl", v) for name, v in (("one", BAD), ("two", GOOD))]
    console = Console(width=100, file=io.StringIO())
    print_tables(compare_runs(runs, ["nDCG@5"], runs[0], tmp_path), {}, console)
    shown = console.file.getvalue()
    assert "one/rewrites.jsonl " in shown
    assert "a_rather" not in shown


def test_labels_that_would_be_alike_are_told_apart() -> None:
    assert shorten_all(["/a/corpus", "/b/corpus"]) == {"/a/corpus": "a/corpus", "/b/corpus": "b/corpus"}
    same = "x" * 30
    assert len(set(shorten_all([f"{same}1", f"{same}2"]).values())) == 2
