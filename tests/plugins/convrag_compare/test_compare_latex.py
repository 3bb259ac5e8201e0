"""leaderboard.tex: the columns that were chosen, the best in bold, significance marked."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from comparisons import BAD, GOOD, grid, run_result
from convrag_compare.leaderboard_latex import escape_latex, find_unknown_columns
from convrag_compare.report import compare_runs
from convrag_compare.run_result import RunResult


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_compare.report.draw_plots", lambda board, folder: [])


def make_latex(results: list[RunResult], folder: Path, *columns: str) -> str:
    made = compare_runs(results, ["nDCG@5"], results[0], folder, columns=columns)
    return made.files["leaderboard.tex"]


def read_lines(latex: str) -> list[str]:
    """Return the lines that are not comments."""
    return [line for line in latex.splitlines() if not line.startswith("%")]


def test_the_best_is_bold_and_significance_is_marked(tmp_path: Path) -> None:
    better = {f"c{n}": [0.9, 0.8] for n in range(12)}
    alike = {name: [0.9, 0.8001] for name in better}
    worse = {f"c{n}": [0.2, 0.1 + 0.01 * n] for n in range(12)}
    runs = [
        run_result("rewriter=none", worse),
        run_result("rewriter=a_b", better),
        run_result("rewriter=c", alike),
    ]
    latex = make_latex(runs, tmp_path)
    rows = latex.partition("\\midrule\n")[2].splitlines()
    assert sorted(rows[:2]) == [
        r"a\_b & \textbf{0.850}\rlap{$^{**}$} \\",
        r"c & \textbf{0.850}\rlap{$^{**}$} \\",
    ]
    assert rows[2:] == [r"none & 0.178 \\", r"\bottomrule", r"\end{tabular}"]
    assert "% Difference to rewriter=none: *: p < 0.05, **: p < 0.01" in latex
    assert r"\begin{tabular}{lr}" in latex


def test_columns_are_chosen(tmp_path: Path) -> None:
    lines = read_lines(make_latex(grid(), tmp_path, "R@5", "rewriter"))
    assert lines[:3] == [r"\begin{tabular}{lr}", r"\toprule", r"rewriter & R@5 \\"]
    lines = read_lines(make_latex(grid(), tmp_path, "ranker"))
    assert lines[2] == r"ranker & nDCG@5 \\", "without a measure, all that are compared"
    assert read_lines(make_latex(grid(), tmp_path))[2] == r"rewriter & ranker & nDCG@5 \\"


def test_a_column_that_is_neither_a_measure_nor_a_factor_is_refused() -> None:
    assert find_unknown_columns(grid(), ["R@5", "ranker"]) == ""
    assert find_unknown_columns(grid(), ["BLEU"]) == (
        "task.columns: 'BLEU' is neither a measure nor a factor of these runs. "
        "They have nDCG@5, R@5, rewriter, ranker."
    )


def test_a_partial_run_and_a_missing_score_are_marked(tmp_path: Path) -> None:
    failed = RunResult("rewriter=b", {"rewriter": "b"}, "failed")
    latex = make_latex([run_result("rewriter=a", GOOD, failed=1), failed], tmp_path)
    assert r"a$^{\dagger}$ & \textbf{0.850} \\" in latex
    assert r"b & -- \\" in latex
    assert "% A dagger marks a partial run" in latex


def test_special_signs_of_latex() -> None:
    assert escape_latex("x|y & $z a_b 95 %") == r"x\textbar{}y \& \$z a\_b 95 \%"
    assert escape_latex("\\{~^<>#}") == (
        r"\textbackslash{}\{\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\#\}"
    )


def test_a_level_with_line_breaks_stays_in_its_row(tmp_path: Path) -> None:
    runs = [run_result("rewriter=a", BAD), run_result("rewriter=b", GOOD)]
    runs[1] = RunResult(
        "b", {"rewriter": "b\n\\end{tabular}\n%"}, summary=runs[1].summary, scores=runs[1].scores
    )
    lines = read_lines(make_latex(runs, tmp_path))
    assert sum(line.startswith(r"\end{tabular}") for line in lines) == 1
    rows = [line for line in lines if line.endswith(r"\\")]
    assert len(rows) == 3
    for row in rows:
        assert len(re.findall(r"(?<!\\)&", row)) == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_reads_it(tmp_path: Path) -> None:
    table = make_latex(grid(), tmp_path, "nDCG@5", "R@5")
    page = (
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
        f"{table}\\end{{document}}\n"
    )
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
