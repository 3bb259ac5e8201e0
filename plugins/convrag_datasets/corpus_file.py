"""A corpus in a file, as a data set without conversations."""

from collections.abc import Iterable
from pathlib import Path

from convrag_datasets.file_dataset import Contents, FileDataset


class CorpusFile(FileDataset):
    """The passages of a file, as `FileDataset` reads them; without a file there are none."""

    def list_files(self) -> Iterable[Path | None]:
        """List nothing: there is no file next to the corpus."""
        return ()

    def read_contents(self) -> Contents:
        """Return no conversations."""
        return Contents(())
