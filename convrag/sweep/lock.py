"""A grid's folder is written by one process at a time, and so is each cell's.

A second process that starts the same grid is told at once who runs it. A cell that a job of an earlier try still runs
is waited for. On a file system without locks a warning says that nobody is kept apart.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from convrag.api.errors import ConvragError
from convrag.store.locks import get_locks
from convrag.sweep.sweep_file import read_json, this_process

try:
    import fcntl
except ImportError:  # Windows has none: two processes are not kept apart there
    fcntl = None  # type: ignore[assignment,unused-ignore]

log = logging.getLogger(__name__)

LOCK_FILE = "sweep.lock"


class GridInUse(ConvragError):
    """Another process runs the same grid. `pid`, `host` and `since` say which one, as far as it has said so."""

    def __init__(self, folder: Path, pid: int | None = None, host: str = "", since: str = "") -> None:
        self.folder, self.pid, self.host, self.since = folder, pid, host, since
        holder = f"process {pid} on {host}, since {since}" if pid else "another process"
        super().__init__(
            f"this grid is being run by {holder}: {folder}. Wait until it has ended, or stop it; "
            "the same command then goes on from there."
        )


@contextmanager
def hold_grid(folder: Path) -> Iterator[None]:
    """Hold a grid's folder, which is made where it is missing. The system frees it when this process is killed.

    Raises:
        GridInUse: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder) as file:
        file.truncate(0)
        file.write(json.dumps({**this_process(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}))
        file.flush()
        yield
        file.truncate(0)


@contextmanager
def hold_cell(folder: Path) -> Iterator[None]:
    """Hold the folder of a cell, waiting for a process that holds it."""
    with ExitStack() as held:
        try:
            held.enter_context(get_locks(folder.parent).lock_keys([folder.name]))
        except OSError as error:
            _warn(folder, error)
        yield


def _lock(folder: Path) -> TextIO:
    """The lock file, locked for as long as it is open."""
    path = folder / LOCK_FILE
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            if not fcntl:
                return file
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
        except BlockingIOError:
            file.close()
            raise _in_use(folder) from None
        except OSError as error:
            _warn(path, error)
            return file
        file.close()  # its former holder has removed it meanwhile


def _in_use(folder: Path) -> GridInUse:
    """Its holder writes who it is right after it has got the lock."""
    deadline = time.monotonic() + 1
    while not (holder := read_json(folder / LOCK_FILE)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return GridInUse(folder, holder.get("pid"), str(holder.get("host", "")), str(holder.get("since", "")))


def _warn(path: Path, error: OSError) -> None:
    log.warning("%s cannot be locked (%s): see that nobody starts the same grid twice at once", path, error.strerror)
