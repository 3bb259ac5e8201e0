"""Runs, grids and comparisons write report.html beside their other files."""

import logging
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from convrag.config.compose import compose
from convrag.run.manifest import list_run_files
from convrag.run.runner import run_experiment
from convrag_web.report.reports import list_plots
from web.report_records import read_blocks

pytestmark = pytest.mark.slow

FAST = ["generator=chat", "llm=extractive", "limit=2", "tracker=none"]
GRID = [*FAST, "rewriter=none,condense", "sweep.baseline=rewriter=none"]


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a grid of two cells."""
    folder = tmp_path_factory.mktemp("grid")
    done = run_convrag(["-m", *GRID], folder)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("outputs/sweeps/*")
    return found


@pytest.fixture(scope="module")
def cells(grid: Path) -> list[Path]:
    return sorted(path.parent for path in grid.glob("*/metrics.json"))


def test_each_cell_has_a_report_among_its_files(cells: list[Path]) -> None:
    for cell in cells:
        assert cell / "report.html" in list_run_files(cell)
        head = read_blocks(cell / "report.html")["head"]
        (facts,) = head["runs"]
        assert facts["name"] in ("rewriter=none", "rewriter=condense")
        assert facts["main"] == ["nDCG@5", "ROUGE-L", "evidence_nDCG"]
        assert ["generator", "chat"] in facts["stages"]


@pytest.mark.parametrize("whose", ["cell", "grid"])
def test_missed_passages_come_with_their_texts(whose: str, grid: Path, cells: list[Path]) -> None:
    """Their texts are looked up in the copy of the corpus that the store has."""
    blocks = read_blocks((cells[0] if whose == "cell" else grid) / "report.html")
    missed = [
        (name, place)
        for row in blocks["turns-0-0"]
        for name, place in row.get("missed", {}).items()
    ]
    assert missed
    told = [
        row["trace"].get("retriever", {}).get("missed_ranks", {}) for row in blocks["turns-0-0"]
    ]
    ranks = {name: rank for each in told for name, rank in each.items()}
    assert ranks.keys() == dict(missed).keys()
    found = [rank for rank in ranks.values() if rank is not None]
    assert found
    assert min(found) > 5
    for name, place in missed:
        assert blocks["passages-0"][place][0] == name
        assert len(blocks["passages-0"][place][2]) > 40


def test_the_grid_has_one_with_the_leaderboard_and_all_turns(grid: Path, cells: list[Path]) -> None:
    blocks = read_blocks(grid / "report.html")
    head = blocks["head"]
    assert [row["levels"] for row in head["board"]["rows"]] in (
        [["none"], ["condense"]],
        [["condense"], ["none"]],
    )
    assert sorted(run["name"] for run in head["runs"]) == ["rewriter=condense", "rewriter=none"]
    assert sorted(head["links"].values()) == sorted(f"{cell.name}/report.html" for cell in cells)
    assert all((grid / link).is_file() for link in head["links"].values())
    assert sorted(head["plots"]) == sorted(path.stem for path in grid.glob("*.png"))
    assert head["board"]["metrics"][0] in head["plots"][0]
    assert len([name for name in blocks if name.startswith("plot-")]) == len(head["plots"])
    assert not any(str(grid) in line for line in head["lines"])


def test_a_report_that_fails_costs_a_warning(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError("no room for it")

    monkeypatch.setattr("convrag_web.report.page._list_parts", fail)
    with caplog.at_level(
        logging.DEBUG
    ):  # a plugin's later warnings of a process are for the log file alone
        _, summary = run_experiment(compose(*FAST, "rewriter=none"), here / "run")
    assert summary.state == "ok"
    assert "no room for it" in caplog.text
    assert sorted(path.name for path in (here / "run").iterdir() if path.is_file() and path.suffix != ".lock") == [
        "metrics.json", "run.json", "run.trec", "scores.jsonl", "summary.md",
    ]  # fmt: skip


def test_plots_come_in_the_order_of_the_measures(tmp_path: Path) -> None:
    for name in (
        "heat_ROUGE-L",
        "heat_nDCG@5_ranker=bm25",
        "quality_latency_nDCG@5",
        "turns_ROUGE-L",
        "other",
    ):
        (tmp_path / f"{name}.png").touch()
    expected = "heat_nDCG@5_ranker=bm25 quality_latency_nDCG@5 heat_ROUGE-L turns_ROUGE-L other"
    assert [path.stem for path in list_plots(tmp_path, ["nDCG@5", "ROUGE-L"])] == expected.split()
