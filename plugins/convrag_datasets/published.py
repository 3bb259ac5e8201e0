"""The base of data sets that are read as their publishers' files are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from convrag import DataError
from convrag.sdk.lazy import Lazy
from convrag_datasets.file_dataset import Contents, FileDataset, find_file


class PublishedDataset(FileDataset):
    """A data set in a copy of what its publisher has.

    Args:
        folders: where its files may be.
        corpus: file of passages, as dataset=jsonl reads them; None where there is none.
        domain: the name of the corpus in outputs.
    """

    source: ClassVar[str]
    """What `dataset.path` must be a copy of, for messages."""

    def __init__(self, *, folders: Sequence[Path], corpus: Path | None = None, domain: str = "default") -> None:
        super().__init__(corpus=corpus, domain=domain)
        self._folders = folders
        self.contents = Lazy(self._read_some)

    def find(self, *names: str) -> Path | None:
        """The first file of these names in the first folder that has one; None where none has."""
        return find_file(self._folders, *names)

    def require(self, *names: str) -> Path:
        """The first file of these names. Raises DataError where there is none, or no folder."""
        if found := self.find(*names):
            return found
        folder = next(filter(Path.is_dir, self._folders), None)
        missing = f"it holds no {' or '.join(names)}" if folder else "this folder does not exist"
        message = f"{missing}; dataset.path must be a copy of {self.source}"
        raise DataError(message, path=folder or self._folders[0])

    def _read_some(self) -> Contents:
        contents = self.read_contents()
        if not contents.conversations:
            raise DataError("this file holds no conversations", path=next(filter(None, self.list_files())))
        return contents
