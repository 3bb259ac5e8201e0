"""Grids as a user types them, in processes of their own."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import run_convrag
from killing import Grid, check_killed, counting

pytestmark = pytest.mark.slow

FEWER_PLOTS = "metrics.ranking.measures=[R@5,nDCG@5]"
GRID = (
    "rewriter=none,last_n,full_history",
    "top_n=2,3",
    "limit=1",
    "generator=direct",
    FEWER_PLOTS,
)


def convrag(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_convrag(["-m", *arguments, "tracker=none"], folder)


def cells(folder: Path) -> dict[str, dict[str, Any]]:
    """How each cell ended, by its overrides."""
    endings = [
        json.loads(path.read_text()) for path in sorted(folder.glob("outputs/sweeps/*/*/cell.json"))
    ]
    return {" ".join(ending["overrides"]): ending for ending in endings}


def made(folder: Path, stage: str) -> int:
    """Calls that were made on behalf of a stage, over all cells."""
    metrics = [
        json.loads(path.read_text()) for path in folder.glob("outputs/sweeps/*/*/metrics.json")
    ]
    return sum(int(row["usage"].get(stage, {}).get("calls", 0)) for row in metrics)


def test_a_grid_makes_each_distinct_call_once(tmp_path: Path) -> None:
    grid = ("rewriter=none,last_n", "top_n=2,3,4", "generator=none", "history=gold", FEWER_PLOTS)
    done = convrag(*grid, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    queries = set()
    for path in tmp_path.glob("outputs/sweeps/*/*/intermediate/*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            queries.add((record["turn_id"], json.dumps(record["queries"])))
    assert made(tmp_path, "retriever") == len(queries)
    assert made(tmp_path, "retriever") < 6 * 49


KILLED = (
    "-m",
    "rewriter=condense,last_n",
    "top_n=2,3",
    "limit=1",
    "workers=2",
    "generator=direct",
    "tracker=none",
)
KILLED += (FEWER_PLOTS,)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """A grid that nobody disturbs; it makes each call once."""
    grid = counting(tmp_path_factory.mktemp("calm"), *KILLED)
    grid.finish()
    assert grid.asked() == grid.stored() > 20
    return grid


def test_a_killed_grid_goes_on(calm: Grid, tmp_path: Path) -> None:
    """Killed in the middle of a call, when a third of them was made: no reply that was stored is
    asked for again, and the leaderboard is that of the undisturbed grid.
    """
    disturbed = counting(tmp_path, *KILLED)
    _, again = check_killed(disturbed, calm, lambda _: disturbed.asked() > 0.3 * calm.stored())
    assert 0 < again < calm.stored() * 0.8
    for name in ("scores.jsonl", "run.trec", "datasets/default.jsonl"):
        for path in calm.folder.glob(f"outputs/sweeps/*/*/{name}"):
            assert (tmp_path / path.relative_to(calm.folder)).read_bytes() == path.read_bytes()


def test_a_grid_that_is_killed_while_it_reports_does_so_again(calm: Grid, tmp_path: Path) -> None:
    disturbed = counting(tmp_path, *KILLED)
    check_killed(disturbed, calm, lambda _: any(tmp_path.glob("outputs/sweeps/*/*.png*")))
    assert {ending["state"] for ending in cells(tmp_path).values()} == {"reused"}


def test_a_grid_by_default_shows_what_its_factors_move(tmp_path: Path) -> None:
    """Four rows of the same nDCG@5 say nothing: the answers differ, and it is said that the
    rankings cannot.
    """
    grid = ("clusterer=lsa,kmeans", "ranker=bm25,embedding", "history=gold")
    done = convrag(*grid, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        "clusterer, ranker: no difference in nDCG@5, evidence_nDCG; they move ROUGE-L, "
        in done.stderr
    )
    assert "ROUGE-L, in the same order" in done.stdout
    per_cell = [line for line in done.stderr.splitlines() if "[2/4]" in line]
    assert len(per_cell) == 2
    assert "nDCG@5 0." in per_cell[1]
    assert "ROUGE-L 0." in per_cell[1]
    assert "Stage calls" not in done.stdout
