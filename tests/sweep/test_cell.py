"""One cell in its folder."""

import json
import logging
import threading
import time
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from convrag.api.errors import ConfigError, DataError
from convrag.api.records import Cell, RunSummary, Sweep
from convrag.concurrency.locks import hold_folder
from convrag.score.summary import format_summary
from convrag.sdk.output import progress
from convrag.sweep.cell import run_cell
from convrag.sweep.sweep_file import (
    find_cell_name,
    find_sweep_id,
    read_ending,
    read_metric,
    write_sweep,
)

STARTED = 1000.0


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """A grid of three cells, the second of which is the same as the first."""
    cells = [
        Cell(name, (f"rewriter={name}",), tmp_path / name, name=f"rewriter={name}")
        for name in ("a", "b", "c")
    ]
    cells[1] = Cell("b", ("rewriter=b",), tmp_path / "b", "same", same_as="a")
    for cell in cells:
        cell.folder.mkdir()
    write_sweep(Sweep("grid", tmp_path, tuple(cells)), STARTED)
    return cells


def run(
    cell: Cell, measured: float | None = 0.5, status: int = 0, error: Exception | None = None
) -> float:
    def execute() -> int:
        if error:
            raise error
        if measured is not None:
            (cell.folder / "metrics.json").write_text(json.dumps({"overall": {"nDCG@5": measured}}))
            (cell.folder / "run.json").write_text("{}")
        return status

    return run_cell(cell.overrides, cell.folder, execute, ["nDCG@5"])


def ended(cell: Cell) -> tuple[str, str]:
    found = read_ending(cell, STARTED)
    return found.state, found.error


def test_how_a_cell_ended_stands_in_its_folder(cells: list[Cell]) -> None:
    first, _, last = cells
    assert ended(first) == ("", "")
    assert run(first) == 0.5
    assert ended(first) == ("ok", "")
    assert read_ending(first, STARTED + 1).state == "", "of an earlier try"
    assert run_cell(first.overrides, first.folder, lambda: 0, ["nDCG@5"]) == 0.5
    assert ended(first) == ("reused", "")
    assert isnan(run(last, error=ConfigError("no key")))
    assert ended(last) == ("failed", "no key")
    assert "Traceback" in (last.folder / "error.txt").read_text()
    assert isnan(run(last, error=KeyError("x")))
    assert ended(last) == ("failed", "KeyError: 'x'")
    assert isnan(run(last, status=1))
    assert ended(last) == ("failed", "the run ended with status 1")
    assert not (last.folder / "error.txt").exists()


def test_a_partial_cell_says_what_it_lacks(
    cells: list[Cell], capsys: pytest.CaptureFixture[str]
) -> None:
    gaps: dict[str, Any] = {
        "turns": 9,
        "failed": 2,
        "fallbacks": {"rewriter": 7},
        "always_fell_back": ("rewriter",),
    }
    summary = RunSummary(
        {"nDCG@5": 0.5}, {}, {"overall": 9}, usage={}, timings={}, seconds=1.0, **gaps
    )
    cell = cells[0]

    def execute() -> int:
        (cell.folder / "metrics.json").write_text(format_summary(summary))
        (cell.folder / "run.json").write_text("{}")
        return summary.exit_status

    assert run_cell(cell.overrides, cell.folder, execute, ["nDCG@5"]) == 0.5
    lacks = "2 of 9 turns failed; the rewriter fell back in all 7 turns that it was needed in"
    assert ended(cell) == ("partial", lacks)
    assert f"convrag: [1/2] nDCG@5 0.500 (partial: {lacks})" in capsys.readouterr().err
    assert run_cell(cell.overrides, cell.folder, lambda: 3, ["nDCG@5"]) == 0.5
    assert ended(cell) == ("partial", "the run ended with status 3"), (
        "of another task, which wrote no run"
    )


def test_the_terminal_and_the_log_hear_how_far_the_grid_is(
    cells: list[Cell],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "time", lambda: STARTED + 40)
    monkeypatch.setattr(time, "monotonic", iter(range(0, 900, 20)).__next__)
    with caplog.at_level(logging.INFO, "convrag"):
        run(cells[0])
        run(cells[2], measured=None)
        run_cell(cells[0].overrides, cells[0].folder, lambda: 0, ["R@5", "nDCG@5"])
    lines = [
        "[1/2] rewriter=a",
        "[1/2] nDCG@5 0.500 (20 s)",
        "[2/2] rewriter=c (about 20 s left)",
        "[2/2] done (20 s)",
        "[1/2] rewriter=a (about 0.0 s left)",
        "[1/2] R@5 was not measured, nDCG@5 0.500 (reused)",
    ]
    assert capsys.readouterr().err.splitlines() == [f"convrag: {line}" for line in lines]
    assert caplog.messages == lines


@pytest.mark.parametrize(
    ("ending", "at_once", "told"),
    [
        ({"state": "ok", "seconds": 30.0}, 1, " (about 30 s left)"),
        ({"state": "partial", "seconds": 240.0}, 1, " (about 4 min left)"),
        ({"state": "ok", "seconds": 240.0}, 4, " (about 60 s left)"),  # several ran side by side
        ({"state": "reused", "seconds": 0.1}, 1, ""),  # says nothing of how long a cell takes
        ({"state": "failed", "seconds": 0.1}, 1, ""),
        ({"state": "ok", "seconds": 30.0, "try": STARTED - 1}, 1, ""),
        ({"state": "ok"}, 1, ""),  # of an early version
    ],
)
def test_the_time_left_is_reckoned_by_cells_that_ran(
    ending: dict[str, Any],
    at_once: int,
    told: str,
    cells: list[Cell],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (cells[0].folder / "cell.json").write_text(json.dumps({"try": STARTED, **ending}))
    monkeypatch.setattr(time, "time", lambda: STARTED + ending.get("seconds", 0.0) / at_once)
    run(cells[2])
    assert f"convrag: [2/2] rewriter=c{told}" in capsys.readouterr().err.splitlines()


def test_bars_are_shown_by_the_process_that_runs_all_cells(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def look() -> int:
        cell = progress._cell
        assert cell is not None
        seen.append((cell.done, cell.total, cell.alone))
        return 0

    run_cell(cells[2].overrides, cells[2].folder, look)
    monkeypatch.setattr("convrag.sweep.cell.this_process", lambda: {"pid": -1, "host": "elsewhere"})
    run_cell(cells[2].overrides, cells[2].folder, look)
    assert seen == [(1, 2, True), (1, 2, False)]
    assert progress._cell is None


def test_a_cell_that_an_earlier_try_still_runs_is_waited_for(cells: list[Cell]) -> None:
    cell = cells[0]
    with hold_folder(cell.folder):
        late = threading.Thread(target=run, args=[cell])
        late.start()
        late.join(0.3)
        assert late.is_alive()
        assert not (cell.folder / "run.json").exists()
    late.join(30)
    assert ended(cell) == ("ok", "")


def test_a_folder_tells_which_grid_it_is_of(cells: list[Cell], tmp_path: Path) -> None:
    assert find_sweep_id(cells[0].folder) == "grid"
    assert find_cell_name(cells[0].folder) == "rewriter=a"
    assert find_sweep_id(tmp_path / "alone") == find_cell_name(tmp_path / "alone") == ""


def test_a_run_without_the_metric_gives_no_number(cells: list[Cell], tmp_path: Path) -> None:
    run(cells[0])
    assert read_metric(cells[0].folder, ["nDCG@5"]) == 0.5
    assert isnan(read_metric(cells[0].folder, "R@5"))
    assert isnan(read_metric(tmp_path, ["nDCG@5"]))
    (cells[0].folder / "metrics.json").write_text('{"overall": {"nDCG@5": null}}')
    assert isnan(read_metric(cells[0].folder, ["nDCG@5"]))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"cells": [{"name": "a"}]}', "\xff"])
def test_a_damaged_list_of_cells_is_an_error_that_names_the_file(
    text: str, cells: list[Cell]
) -> None:
    path = cells[0].folder.parent / "sweep.json"
    path.write_text(text, encoding="latin-1")
    folder = cells[0].folder
    for read in (
        lambda: run(cells[0]),
        lambda: find_sweep_id(folder),
        lambda: find_cell_name(folder),
    ):
        with pytest.raises(
            DataError,
            match=rf"{path}: this is no list of the cells of a grid; start the grid again",
        ):
            read()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"overall": []}', '{"overall": {"nDCG@5": "x"}}', '{"try": 1000.0}']
)
def test_a_damaged_file_of_a_cell_counts_as_none(text: str, cells: list[Cell]) -> None:
    for name in ("metrics.json", "cell.json"):
        (cells[0].folder / name).write_text(text)
    assert isnan(read_metric(cells[0].folder, ["nDCG@5"]))
    assert read_ending(cells[0], STARTED) == cells[0]
