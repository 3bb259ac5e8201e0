"""A real PostgreSQL server on loopback for tests, from Debian's binaries; it is removed at the end.

A module whose tests use the fixture `postgres` marks its tests `integration`. They skip where the
binaries or psycopg are absent.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

USER, PASSWORD = "convrag", "pa:ss/w@rd%20'x"
"""The password has what addresses must quote."""


class PostgresServer:
    """A server with one user, who must give a password, at an address of this machine.

    `start` and `stop` may be called again, as for a restart.
    """

    def __init__(self, binaries: Path, address: str = "127.0.0.1") -> None:
        self._binaries = binaries
        self._address = address
        self._account = (
            "postgres" if os.geteuid() == 0 else None
        )  # the server refuses to run as root
        self._folder = Path(tempfile.mkdtemp(prefix="convrag-postgres-"))
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind((address, 0))
            self.port = int(free.getsockname()[1])
        secret = self._folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        if self._account:
            shutil.chown(self._folder, self._account)
            shutil.chown(secret, self._account)
        self._run(
            "initdb",
            "-D",
            self._data,
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            "--pwfile",
            secret,
            "-E",
            "UTF8",
            "--no-sync",
        )
        with (self._data / "pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write(f"host all all {address}/24 scram-sha-256\n")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [
            "-k",
            str(self._folder),
            "-c",
            f"listen_addresses={self._address}",
            "-c",
            "fsync=off",
            "-N",
            "200",
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._data, "-p", str(self.port), *options],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                user=self._account,
            )
        deadline = time.monotonic() + 60
        while self._call("pg_isready", "-h", self._address, "-p", str(self.port)).returncode != 0:
            assert time.monotonic() < deadline, self.read_log()
            assert self._process.poll() is None, self.read_log()
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once, as if its machine had failed; clients lose their connections."""
        if self._process:
            self._run("pg_ctl", "stop", "-D", self._data, "-m", "immediate")
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        """Stop it, and remove its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def make_database(self) -> str:
        """Make an empty database, and return its address."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.make_address(name)

    def make_schema(self) -> str:
        """Make an empty schema, and return the address of a database whose tables are in it: faster
        than a database.
        """
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.make_address('postgres')}?options=-csearch_path%3D{name}"

    def make_address(self, name: str, *, user: str = USER, password: str = PASSWORD) -> str:
        """Return the address of a database, with the password."""
        from sqlalchemy import URL

        url = URL.create("postgresql+psycopg", user, password, self._address, self.port, name)
        return url.render_as_string(hide_password=False)

    def execute(
        self, statement: str, database: str = "postgres", *, schema: str = ""
    ) -> list[tuple[object, ...]]:
        """Execute a statement, and return its rows. The schema is that of an address that
        `make_schema` gave.
        """
        import psycopg

        connection = psycopg.connect(
            host=self._address,
            port=self.port,
            user=USER,
            password=PASSWORD,
            dbname=database,
            autocommit=True,
            options=f"-csearch_path={schema.rpartition('%3D')[2]}" if schema else "",
        )
        with connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def read_log(self) -> str:
        """Return what the server has logged."""
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = self._call(program, *arguments)
        assert done.returncode == 0, done.stdout.decode("utf-8", "replace")

    def _call(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self._binaries / program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
            user=self._account,
            timeout=120,
            check=False,
        )


def find_binaries() -> Path | None:
    """Return the folder of PostgreSQL's server programs, of the newest version; None if there is
    none.
    """
    folders = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *map(Path, os.environ.get("PATH", "").split(os.pathsep)),
    ]
    found = [folder for folder in folders if (folder / "initdb").is_file()]
    return max(
        found,
        key=lambda folder: [int(part) for part in folder.parts if part.isdigit()],
        default=None,
    )


@contextmanager
def running_server(binaries: Path) -> Iterator[PostgresServer]:
    """Run a server of the programs in a folder."""
    server = PostgresServer(binaries)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this process."""
    pytest.importorskip("psycopg")
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    with running_server(binaries) as server:
        yield server


@pytest.fixture(scope="session")
def vector_postgres() -> Iterator[PostgresServer]:
    """A server with the extension vector, from the package pgserver."""
    pytest.importorskip("psycopg")
    package = find_spec("pgserver")
    if package is None or package.origin is None:
        pytest.skip("no PostgreSQL with the extension vector is installed (pip install pgserver)")
    with tempfile.TemporaryDirectory(prefix="convrag-pgserver-") as folder:
        Path(folder).chmod(
            0o755
        )  # the account of PostgreSQL may not enter root's environments, nor its mkdtemp
        for part in (
            Path(package.origin).parents[1].glob("pgserver*")
        ):  # its libraries lie beside it
            shutil.copytree(part, Path(folder) / part.name)
        with running_server(Path(folder) / "pgserver/pginstall/bin") as server:
            yield server
