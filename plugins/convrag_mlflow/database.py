"""MLflow's database on disk: made once, whole or not at all, however many processes begin and whichever is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

from convrag import Store
from convrag.store.locks import locks_of

_SQLITE = "sqlite:///"


def located(uri: str) -> tuple[str, Path | None]:
    """An address with an absolute path, and where runs' files go: beside a database on disk, elsewhere MLflow knows."""
    if not uri.startswith(_SQLITE):
        return uri, None
    path = Path(uri.removeprefix(_SQLITE)).absolute()
    return f"{_SQLITE}{path}", path.parent / "mlflow"


@contextmanager
def alone(uri: str, files: Path | None, store: Store) -> Iterator[None]:
    """Make the database where it is not there, and let no other process be the first to use it meanwhile.

    MLflow's own first use is not safe against another one, and one that is killed leaves tables that no later one can
    finish.

    Args:
        uri: as `located` gave it.
        files: likewise.
        store: keeps processes apart where the database is not on disk.
    """
    if files is None:
        with store.lock([f"mlflow {uri}"]):
            yield
        return
    files.mkdir(parents=True, exist_ok=True)
    with locks_of(files).hold([uri]):
        path = Path(uri.removeprefix(_SQLITE))
        if not path.exists():
            _make(path, files)
        yield


def _make(path: Path, files: Path) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    for former in path.parent.glob(f"{unfinished.name}*"):
        former.unlink()  # of a process that was killed: we hold the claim
    SqlAlchemyStore(f"{_SQLITE}{unfinished}", files.as_uri()).engine.dispose()
    unfinished.rename(path)
