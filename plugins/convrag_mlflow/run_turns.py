"""The notes of the turns of all runs in progress, of which their traces are made."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from convrag import Run, TurnRecord
from convrag_mlflow.turn_notes import Row, TurnNotes

log = logging.getLogger(__name__)


class RunTurns:
    """The turns of runs, by the runs' folders. Where a run's turns are not watched, nothing has an effect."""

    def __init__(self) -> None:
        self._notes: dict[Path, TurnNotes] = {}

    def watch(self, run: Run) -> None:
        """Begin to note the turns of a run."""
        self._notes[run.folder] = TurnNotes()

    def end_stage(self, stage: str, record: TurnRecord) -> None:
        """Note that a stage of a turn has ended."""
        for notes in list(self._notes.values()):
            notes.watch(stage, record)

    def keep(self, run: Run, path: Path) -> None:
        """Note them in this file, which outlives the process."""
        if notes := self._notes.get(run.folder):
            notes.path = path

    def add(self, run: Run, record: TurnRecord) -> None:
        """Note a whole turn; a warning says where that could not be done."""
        if notes := self._notes.get(run.folder):
            try:
                notes.add(record)
            except OSError as error:
                log.warning("the turns of this run are not all noted, so that their traces are missing: %s", error)
                self.drop(run)

    def take(self, run: Run) -> Iterator[Row]:
        """Yield the turns of a run, and drop the notes then."""
        if notes := self._notes.get(run.folder):
            yield from notes.read()
            self.drop(run)

    def drop(self, run: Run) -> None:
        """Note no more turns of a run; a file with a name stays until its run is logged."""
        if notes := self._notes.pop(run.folder, None):
            notes.close()

    def has(self, run: Run) -> bool:
        """Whether the turns of a run are noted."""
        return run.folder in self._notes
