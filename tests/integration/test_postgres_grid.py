"""Grids and runs of several processes that have nothing in common but a PostgreSQL server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from commands import LIBRARIES, StartedCommand
from convrag.turn.conversations import Conversations
from killing import COUNTING, Grid
from postgres_server import PostgresServer

pytestmark = [pytest.mark.cluster, pytest.mark.integration]

TWO = ("rewriter=last_n,full_history", "limit=1")
SHARED = (
    "history=gold",
    "tracker=none",
    "report=false",
    "metrics.ranking.measures=[nDCG@5]",
    "llm=counting",
)


class ServedGrid(Grid):
    """A grid whose store is on a server."""

    server: PostgresServer
    database: str

    @classmethod
    def make(cls, folder: Path, server: PostgresServer, url: str, *arguments: str) -> ServedGrid:
        folder.mkdir()
        (folder / "counting.py").write_text(COUNTING)
        (folder / "asked.txt").touch()
        arguments = ("-m", *arguments, *SHARED, "plugins=[counting.py]", f"store.url='{url}'")
        grid = cls(folder, arguments, lambda: len(read_asked(folder)), "CountingLLM.complete")
        object.__setattr__(grid, "server", server)
        object.__setattr__(grid, "database", url.rpartition("/")[2])
        return grid

    def stored(self) -> int:
        """Wait until the server has noticed what was killed, and count."""
        busy = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{self.database}' AND application_name = 'convrag'"
        while self.server.execute(busy):
            time.sleep(0.02)
        if self.server.execute("SELECT to_regclass('convrag_entries')", self.database) == [(None,)]:
            return 0
        ((count,),) = self.server.execute(
            f"SELECT count(*) FROM convrag_entries WHERE kind = '{self.kind}'", self.database
        )
        assert isinstance(count, int)
        return count


def read_asked(folder: Path) -> list[str]:
    return (folder / "asked.txt").read_text().splitlines()


@pytest.fixture
def make_url(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Makes a database; its address has no password, which is in the environment."""
    from postgres_server import PASSWORD, USER

    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return lambda: (
        f"postgresql+psycopg://{USER}@127.0.0.1:{postgres.port}/{postgres.make_database().rpartition('/')[2]}"
    )


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
