"""Creates MLflow's database: once and whole, also where processes start together or are killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from sqlalchemy import create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from convrag import Store
from convrag.sdk.identity import digest
from convrag.sdk.storage import get_locks
from convrag_mlflow.addresses import SQLITE

_LOCK = 0x636F6E7672616702  # of PostgreSQL: held while MLflow makes its tables


@contextmanager
def exclusive_database(uri: str, artifacts: Path | None, store: Store) -> Iterator[None]:
    """Create the database where it is missing, and keep other processes from their own first use of it meanwhile.

    MLflow's first use of a database creates its tables. Two at once would collide, and one that is killed leaves tables
    that no later one can complete.

    Args:
        uri: as `resolve_uri` gives it.
        artifacts: the folder for runs' files, as `resolve_uri` gives it.
        store: has the lock where the database is not on disk.
    """
    if artifacts is None:
        with store.lock([digest(["mlflow", uri])]), _hold_server(uri):  # a hash: the address may have a password
            yield
        return
    artifacts.mkdir(parents=True, exist_ok=True)
    with get_locks(artifacts).lock_keys([uri]):
        path = Path(uri.removeprefix(SQLITE))
        if not path.exists():
            _create_database(path, artifacts)
        yield


@contextmanager
def _hold_server(uri: str) -> Iterator[None]:
    """Keep out processes that have another store, where the database is PostgreSQL's."""
    with ExitStack() as held:
        if uri.startswith("postgresql"):
            with suppress(SQLAlchemyError, ImportError):  # MLflow says what is wrong with it
                connection = held.enter_context(create_engine(uri, poolclass=NullPool).connect())
                connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
        yield


def _create_database(path: Path, artifacts: Path) -> None:
    """Create it under another name, and rename it when it is complete."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    for leftover in path.parent.glob(f"{unfinished.name}*"):
        leftover.unlink()  # of a process that was killed: we hold the lock
    SqlAlchemyStore(f"{SQLITE}{unfinished}", artifacts.as_uri()).engine.dispose()
    unfinished.rename(path)
