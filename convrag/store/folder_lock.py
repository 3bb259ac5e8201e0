"""A folder is held by one process while it is written: that of a run, of a grid, of a cell of a grid.

The lock is `filelock`'s, which works on Windows too, is free when its process is killed, and does not pass to a forked
child. The lock file says who holds it, and is there only meanwhile.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from convrag.api.errors import ConvragError
from convrag.store.cancellation import check_cancelled, if_abandoned, is_cancelled
from convrag.store.locks import warn_without_locks

FOLDER_LOCK = ".convrag.lock"
"""The lock file in a folder that is held."""


class FolderInUse(ConvragError):
    """Another process holds a folder. `pid`, `host` and `since` say which one, as far as it has said so."""

    def __init__(self, folder: Path, pid: int | None = None, host: str = "", since: str = "") -> None:
        self.folder, self.pid, self.host, self.since = folder, pid, host, since
        holder = f"process {pid} on {host}, since {since}" if pid else "another process"
        super().__init__(
            f"{folder} is in use by {holder}. Wait until it has ended, or stop it: the same command then goes on from "
            "what is remembered. Or choose another folder: hydra.run.dir=..., for a grid hydra.sweep.dir=..."
        )


@contextmanager
def hold_folder(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a folder, which is made where it is missing, during the block. A thread that holds it may hold it again.

    Where the file system has no locks, a warning says so once and nobody is kept apart.

    Args:
        folder: the folder.
        wait: whether to wait for another process, or thread, that holds it.

    Raises:
        FolderInUse: another process, or thread, holds it, and `wait` is False.
        OSError: the folder cannot be made.
    """
    from filelock import FileLock, Timeout

    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FOLDER_LOCK
    lock = FileLock(path, is_singleton=True, poll_interval=0.1, fallback_to_soft=False, on_acquired=_write_holder)
    try:
        lock.acquire(timeout=-1 if wait else 0, cancel_check=is_cancelled)
    except Timeout:
        check_cancelled()
        raise FolderInUse(folder, **_read_holder(folder)) from None
    except OSError as error:
        warn_without_locks(folder, error)
    is_held = lock.is_locked  # which another thread could not ask

    def remove() -> None:
        if is_held:
            with suppress(OSError):  # Windows removes no open file
                path.unlink()

    with if_abandoned(remove):
        try:
            yield
        finally:
            if lock.lock_counter == 1:
                remove()
            lock.release()


def _write_holder(file: int) -> None:
    """Write who holds the folder into its lock file, after a first byte that others cannot read on Windows."""
    holder = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    os.ftruncate(file, 0)
    os.write(file, f"\n{json.dumps(holder)}".encode())


def _read_holder(folder: Path) -> dict[str, Any]:
    """Read who holds a folder; empty where that is not written yet, or not any more."""
    try:
        with (folder / FOLDER_LOCK).open("rb") as file:
            file.seek(1)
            holder = json.loads(file.read())
        return {name: holder[name] for name in ("pid", "host", "since")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
