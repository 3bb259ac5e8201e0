"""A grid and a run, read from their folders: as objects, as a DataFrame, and in a notebook."""

import csv
import json
import sys
from pathlib import Path

import pytest

import convrag
from convrag.api.errors import DataError, MissingExtra
from tasks import run_here


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid")
    done = run_here(
        [
            "-m",
            "rewriter=none,last_n",
            "top_n=1,2",
            "generator=none",
            "tracker=none",
            "hydra.sweep.dir=swept",
        ],
        folder,
    )
    assert done.returncode == 0, done.stderr
    return folder / "swept"


def test_the_cells_and_their_scores(grid: Path) -> None:
    read = convrag.read_grid(grid)
    assert len(read.cells) == 4
    assert read.cells[0].choices == {
        "rewriter": "none",
        "top_n": "1",
        "generator": "none",
        "tracker": "none",
    }
    scores = {cell.scores["nDCG@5"] for cell in read.cells}
    assert len(scores) == 2
    assert {cell.state for cell in read.cells} <= {"ok", "same"}
    page = read._repr_html_()
    assert "rewriter=last_n" in page
    assert f"{read.cells[0].scores['nDCG@5']:.4f}" in page
    assert "nDCG@5" in page


def test_a_dataframe_has_a_row_for_each_cell(grid: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = convrag.read_grid(str(grid)).to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns[:6]) == ["cell", "name", "state", "same_as", "rewriter", "top_n"]
    means = frame.groupby("rewriter")["nDCG@5"].mean()
    assert 0 < means["last_n"] != means["none"] > 0
    assert not frame["nDCG@5"].isna().any()


def test_without_pandas_the_message_says_what_to_install(
    grid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingExtra,
        match="to_dataframe needs pandas, which is not installed: pip install 'pandas'",
    ):
        convrag.read_grid(grid).to_dataframe()


def test_a_run_is_read_with_its_turns(grid: Path) -> None:
    cell = next(cell for cell in convrag.read_grid(grid).cells if not cell.same_as)
    run = convrag.read_run(grid / cell.id)
    assert run.summary.overall == dict(cell.scores)
    records = list(run.records())
    assert len(records) == run.summary.turns
    page = run._repr_html_()
    assert "95 % interval" in page
    assert f"{cell.scores['nDCG@5']:.4f}" in page


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this is no folder of a grid: it has no sweep.json"):
        convrag.read_grid(tmp_path)
    with pytest.raises(
        DataError, match="this is no folder of a finished run: it has no metrics.json"
    ):
        convrag.read_run(tmp_path)
    (tmp_path / "metrics.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"metrics\.json: these are no metrics of a run"):
        convrag.read_run(tmp_path)


def test_the_scores_of_turns_are_a_dataframe(grid: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    cell = next(cell for cell in convrag.read_grid(grid).cells if not cell.same_as)
    frame = convrag.read_run(grid / cell.id).to_dataframe()
    assert list(frame.columns[:4]) == ["turn_id", "conversation_id", "domain", "turn"]
    assert frame["nDCG@5"].mean() == pytest.approx(cell.scores["nDCG@5"])
    assert frame["conversation_id"].nunique() == 8
    (tmp_path / "metrics.json").write_bytes((grid / cell.id / "metrics.json").read_bytes())
    (tmp_path / "scores.jsonl").write_text('{"turn_id": "t"}\n', encoding="utf-8")
    with pytest.raises(
        DataError, match="line 1: this is not a line of a run's scores: conversation_id"
    ):
        convrag.read_run(tmp_path).to_dataframe()


def test_a_notebook_shows_the_leaderboard(grid: Path) -> None:
    """The numbers of leaderboard.csv, best first; the cells are below it."""
    board, _, cells = convrag.read_grid(grid)._repr_html_().partition("<details>")
    with (grid / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert f">{rows[0]['rewriter']}</td>" in board
    for row in rows:
        low, high = float(row["nDCG@5_low"]), float(row["nDCG@5_high"])
        assert f"{float(row['nDCG@5']):.3f} [{low:.3f}, {high:.3f}]" in board
    compared = [row for row in rows if row["nDCG@5_p_holm"]]
    assert compared
    for row in compared:
        assert f">{float(row['nDCG@5_p_holm']):.4f}</td>" in board
    assert "p (Holm)" in board
    assert "R@10" in cells


def test_the_best_and_significant_differences_are_bold_and_hostile_factors_are_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps({"id": "g", "cells": []}), encoding="utf-8")
    head = "rewriter,state,m,m_low,m_high,m_difference,m_p_holm\n"
    lines = (
        "<script>x</script>,ok,0.5,0.4,0.6,0.25,0.01\n"
        "b,ok,0.25,,,,\n"
        "c,failed,,,,,\n"
        "d,ok,0.25,,,0.125,0.05\n"
    )
    path = tmp_path / "leaderboard.csv"
    path.write_text(head + lines, encoding="utf-8")
    page = convrag.read_grid(tmp_path)._repr_html_()
    assert "<script" not in page
    assert "<b>0.500 [0.400, 0.600]</b>" in page
    assert "<b>+0.250</b>" in page
    assert ">+0.125</td>" in page
    assert page.count("<b>") == 2


@pytest.mark.parametrize("text", ["", "a\n1\n", "rewriter,state,m\na,ok\n", "\udcff", "state,\n"])
def test_a_leaderboard_that_cannot_be_read_is_left_out(text: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps({"id": "g", "cells": []}), encoding="utf-8")
    data = text.encode("utf-8", "surrogateescape")
    (tmp_path / "leaderboard.csv").write_bytes(data)
    assert "p (Holm)" not in convrag.read_grid(tmp_path)._repr_html_()
