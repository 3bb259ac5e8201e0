"""Grids and runs of several processes that have nothing in common but a PostgreSQL server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from commands import LIBRARIES, StartedCommand
from convrag.turn.conversations import Conversations
from postgres_server import PASSWORD, PostgresServer
from served_grid import TWO, ServedGrid, make_public_address, read_asked

pytestmark = [pytest.mark.cluster, pytest.mark.integration]


@pytest.fixture
def make_url(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Makes a database; its address has no password, which is in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return lambda: make_public_address(postgres)


def test_processes_without_a_common_folder_make_each_call_once(
    make_url: Callable[[], str],
    postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    url = make_url()
    grids = [
        ServedGrid.make(tmp_path / f"host{number}", postgres, url, *TWO) for number in range(2)
    ]
    started = [grid.start() for grid in grids]
    assert [process.wait(timeout=600) for process in started] == [0, 0], (
        grids[0].folder / "out.txt"
    ).read_text()
    asked = [line for grid in grids for line in read_asked(grid.folder)]
    assert len(asked) == len(set(asked)) == grids[0].stored() > 0
    boards = [grid.boards() for grid in grids]
    assert all(board == boards[0] for board in boards)
    assert boards[0]["leaderboard.csv"].count(b"\n") == 3


@pytest.mark.skipif(not find_spec("mlflow"), reason="needs mlflow")
def test_eight_processes_with_mlflow_and_conversations_on_the_same_fresh_database(
    make_url: Callable[[], str],
    postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    """Half of them have stores of their own, so that a lock of the store's keeps nobody apart."""
    processes, url = 8, make_url()
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    arguments = [
        "limit=1",
        "rewriter=none",
        "generator=none",
        "tracker=mlflow",
        f"tracker.uri={url}",
    ]
    started = []
    for number in range(processes):
        (folder := tmp_path / str(number)).mkdir()
        with (folder / "out.txt").open("wb") as said:
            own = [f"top_k={number + 1}", "top_n=1", *([f"store.url={url}"] if number % 2 else [])]
            started.append(
                StartedCommand(
                    [*arguments, *own],
                    folder,
                    environment=environment,
                    libraries=(*LIBRARIES, "psycopg"),
                    stdout=said,
                    stderr=subprocess.STDOUT,
                )
            )
    assert [process.wait(timeout=300) for process in started] == [0] * processes, [
        path.read_text()[-500:] for path in tmp_path.glob("*/out.txt")
    ]
    database = url.rpartition("/")[2]
    assert postgres.execute("SELECT status FROM runs", database) == [("FINISHED",)] * processes
    assert postgres.execute(
        "SELECT count(*) FROM experiments WHERE name = 'convrag'", database
    ) == [(1,)]
    conversations = Conversations(postgres.make_address(database))
    assert conversations is not None
    names = {name for (name,) in postgres.execute("SELECT tablename FROM pg_tables", database)}
    assert {"convrag_entries", "convrag_schema", "runs"} <= names
