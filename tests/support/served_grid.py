"""A grid that can be killed, whose store is on a PostgreSQL server."""

from __future__ import annotations

import time
from pathlib import Path

from killing import COUNTING, Grid
from postgres_server import USER, PostgresServer

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


def make_public_address(server: PostgresServer) -> str:
    """Make a database, and return its address without the password, which PGPASSWORD has."""
    name = server.make_database().rpartition("/")[2]
    return f"postgresql+psycopg://{USER}@127.0.0.1:{server.port}/{name}"
