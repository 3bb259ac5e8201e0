"""Runs that MLflow does not have yet: a file for each, from the start of the run until it is logged.

Importing MLflow takes longer than a short run, so a single run is logged when its results are shown. Until then, this
file is all that tells of it: the next command logs a run whose process was killed, or could not log it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag.sdk.files import write_atomically
from convrag.sdk.storage import get_locks
from convrag_mlflow.processes import is_gone, mark_process


@dataclass(frozen=True)
class Entry:
    """A run that is to be logged.

    Args:
        path: the file.
        row: what it says: "process" (its mark), "started" (milliseconds since 1970), what was to be logged at the
            start, and once the run has ended "ended" (milliseconds), "error" (empty where all went well) and
            "interrupted".
    """

    path: Path
    row: dict[str, Any]

    @property
    def turns(self) -> Path:
        """The file with the run's turns, from which traces are made; absent where none are wanted."""
        return self.path.with_suffix(".turns.jsonl")

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended by itself, well or not."""
        return "ended" in self.row

    @property
    def is_due(self) -> bool:
        """Whether nothing more will happen to the run: it has ended, or its process is gone."""
        return self.has_ended or is_gone(str(self.row["process"]))

    def remove(self) -> None:
        """Remove the files: the run is logged."""
        self.path.unlink()
        self.turns.unlink(missing_ok=True)

    def end(self, error: str = "", *, interrupted: bool = False) -> None:
        """Note that the run has ended, and the error or the interruption that ended it."""
        self.row.update(ended=_now(), error=error, interrupted=interrupted)
        write_atomically(self.path, json.dumps(self.row))


class Journal:
    """The files of a folder.

    Args:
        folder: is created at the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, row: dict[str, Any]) -> Entry:
        """Note that a run has started. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{time.time_ns()}-{os.getpid()}.json"
        entry = Entry(self.folder / name, {"process": mark_process(), "started": _now(), **row})
        write_atomically(entry.path, json.dumps(entry.row))
        return entry

    @contextmanager
    def take_due(self) -> Iterator[list[Entry]]:
        """The entries that are to be logged now, oldest first; other processes wait until the block ends."""
        if not self.folder.exists():
            yield []
            return
        with get_locks(self.folder).lock_keys(["journal"]):
            yield [entry for entry in self._read_entries() if entry.is_due]

    def _read_entries(self) -> Iterator[Entry]:
        for path in sorted(self.folder.glob("*.json")):
            try:
                row = json.loads(path.read_text(encoding="utf-8"))
                yield Entry(path, {**row, "process": row["process"], "started": int(row["started"])})
            except (OSError, ValueError, KeyError, TypeError):
                continue  # of another version, or damaged: nothing can be logged


def _now() -> int:
    return int(time.time() * 1000)
