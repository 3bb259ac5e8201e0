"""What a comparison calls its runs."""

import io
from pathlib import Path

import pytest

from comparisons import BAD, GOOD, grid, run_result
from convrag.api.errors import ConfigError
from convrag_compare.find_runs import name_runs
from convrag_compare.report import compare_runs
from convrag_compare.tables import shorten_all
from convrag_compare.terminal_tables import print_tables


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_compare.report.draw_plots", lambda board, folder: [])


def test_names_stand_for_overrides(tmp_path: Path) -> None:
    runs = name_runs(grid(), ["one", "two", "three", "four"])
    made = compare_runs(runs, ["nDCG@5"], runs[0], tmp_path)
    assert made.numbers["factors"] == ["run"]
    assert {row["levels"][0] for row in made.numbers["rows"]} == {"one", "two", "three", "four"}
    assert made.numbers["baseline"] == "run=one"
    with pytest.raises(
        ConfigError, match=r"2 names for 4 runs. The runs are, in order:\n  rewriter=a ranker=x"
    ):
        name_runs(grid(), ["one", "two"])
    with pytest.raises(ConfigError, match="two runs are named 'one'"):
        name_runs(grid()[:2], ["one", "one"])


def test_long_paths_are_shortened_by_what_they_share_and_break_behind_slashes(
    tmp_path: Path,
) -> None:
    from rich.console import Console

    deep = "/data/experiments/2026/november/" + "a_rather_long_folder_name/" * 3
    runs = [
        run_result(f"rewriter.path={deep}{name}/rewrites.jsonl", v)
        for name, v in (("one", BAD), ("two", GOOD))
    ]
    console = Console(width=100, file=io.StringIO())
    print_tables(compare_runs(runs, ["nDCG@5"], runs[0], tmp_path), {}, console)
    shown = console.file.getvalue()
    assert "one/rewrites.jsonl " in shown
    assert "a_rather" not in shown


def test_labels_that_would_be_alike_are_told_apart() -> None:
    assert shorten_all(["/a/corpus", "/b/corpus"]) == {
        "/a/corpus": "a/corpus",
        "/b/corpus": "b/corpus",
    }
    same = "x" * 30
    assert len(set(shorten_all([f"{same}1", f"{same}2"]).values())) == 2
