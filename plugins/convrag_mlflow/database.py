"""The database of MLflow: only one process at a time makes its tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from convrag.sdk.storage import get_locks
from convrag_mlflow.addresses import SQLITE

_LOCK = 0x636F6E7672616702
"""The advisory lock of PostgreSQL that is held while MLflow makes its tables."""


@contextmanager
def exclusive_database(uri: str, artifacts: Path | None) -> Iterator[None]:
    """Create the database if it is missing, and keep other processes from using it meanwhile.

    MLflow makes its tables when it first uses a database. Two processes would collide, and one that
    is killed leaves tables that no later one can complete.

    Args:
        uri: the tracking address, as `resolve_uri` returns it.
        artifacts: the folder for the files of runs, as `resolve_uri` returns it.
    """
    if artifacts is not None:
        artifacts.mkdir(parents=True, exist_ok=True)
        with get_locks(artifacts).lock_keys([uri]):
            path = Path(uri.removeprefix(SQLITE))
            if not path.exists():
                _create_database(path, artifacts)
            yield
    elif uri.startswith("postgresql"):
        with create_engine(uri, poolclass=NullPool).connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
            yield
    else:
        yield  # a server makes its own database


def _create_database(path: Path, artifacts: Path) -> None:
    """Create a database under another name, and rename it when it is complete."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    for leftover in path.parent.glob(f"{unfinished.name}*"):
        leftover.unlink()  # of a process that was killed: we hold the lock
    SqlAlchemyStore(f"{SQLITE}{unfinished}", artifacts.as_uri()).engine.dispose()
    unfinished.rename(path)
