"""Creates MLflow's database on disk: once and whole, also where processes start together or are killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

from convrag import Store
from convrag.store.locks import get_locks
from convrag_mlflow.addresses import SQLITE


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
        with store.lock([f"mlflow {uri}"]):
            yield
        return
    artifacts.mkdir(parents=True, exist_ok=True)
    with get_locks(artifacts).lock_keys([uri]):
        path = Path(uri.removeprefix(SQLITE))
        if not path.exists():
            _create_database(path, artifacts)
        yield


def _create_database(path: Path, artifacts: Path) -> None:
    """Create it under another name, and rename it when it is complete."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    for leftover in path.parent.glob(f"{unfinished.name}*"):
        leftover.unlink()  # of a process that was killed: we hold the lock
    SqlAlchemyStore(f"{SQLITE}{unfinished}", artifacts.as_uri()).engine.dispose()
    unfinished.rename(path)
