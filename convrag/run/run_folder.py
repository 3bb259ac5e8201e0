"""The folder of a run: its files take their places when the run has finished."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from convrag.api.errors import FolderInUse
from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.concurrency.locks import hold_folder
from convrag.store.files import DiskError, writing

UNFINISHED = ".unfinished"
"""The hidden subfolder in which files are written."""


class RunFolder:
    """The folder of a run, got from `open_run_folder`.

    Files are written in a hidden subfolder, and all are moved to their places when the run ends.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unfinished = folder / UNFINISHED

    def append(self, name: str, lines: Iterable[str]) -> None:
        """Append lines to a file of the run. Raises DiskError if they cannot be written."""
        path = self.unfinished / name
        self._check_presence()
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write("".join(f"{line}\n" for line in lines))

    def publish(self) -> None:
        """Move every file to its place, replacing the files of an earlier run. Raises DiskError."""
        self._check_presence()
        with writing(self.folder):
            for path in sorted(self.unfinished.iterdir()):
                place = self.folder / path.name
                if place.is_dir():
                    shutil.rmtree(place)
                path.replace(place)
            self.unfinished.rmdir()

    def discard(self) -> None:
        """Remove every file that is not published."""
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def _check_presence(self) -> None:
        """Raise DiskError if somebody has removed the folder, with what was written before."""
        if not self.unfinished.is_dir():
            raise DiskError(
                f"{self.folder} was removed while this run wrote there. Run the same command again."
            )


@contextmanager
def open_run_folder(folder: Path) -> Iterator[RunFolder]:
    """Hold a folder while a run is written into it.

    Files that are not published by the end of the block are deleted.

    Raises:
        FolderInUse: another process writes there.
    """
    files = RunFolder(folder)
    with hold_folder(folder):
        files.discard()  # a process that was killed has left them
        files.unfinished.mkdir()
        with cleanup_at_exit(files.discard):
            try:
                yield files
            finally:
                files.discard()


def discard_unfinished(folder: Path) -> None:
    """Remove the files that a killed process did not publish, unless another process is at work."""
    files = RunFolder(folder)
    if files.unfinished.exists():
        with suppress(FolderInUse), hold_folder(folder):
            files.discard()
