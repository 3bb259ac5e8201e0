"""dataset=beir: a data set in BEIR's layout."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from convrag import DataError, UnknownName
from convrag_datasets.file_dataset import Contents, FileDataset
from convrag_datasets.files.qrels import read_qrels
from convrag_datasets.files.queries import read_queries
from convrag_datasets.published_dataset import find_file

_PACKED = ("", ".gz", ".zip")


class BeirDataset(FileDataset):
    """A folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv.

    The questions are those that the split judges. Ids `conversation<::>turn` make up conversations;
    every turn is asked if one is judged; other questions stand alone. The three files may be packed
    as .gz or .zip. Source: Thakur et al., BEIR, NeurIPS 2021.

    Args:
        path: the folder.
        split: which qrels: test, dev or train.
    """

    def __init__(self, *, path: Path, split: Literal["test", "dev", "train"] = "test") -> None:
        super().__init__(corpus=None, domain="")
        self.path = path
        self.split = split

    def list_files(self) -> Iterable[Path]:
        """List the files that the folder may have, packed or not."""
        names = ("corpus.jsonl", "queries.jsonl", f"qrels/{self.split}.tsv")
        return [self.path / f"{name}{packed}" for name in names for packed in _PACKED]

    def domains(self) -> Sequence[str]:
        """Return the one domain, which has the folder's name. Raises DataError without a folder."""
        if not self.path.is_dir():
            raise DataError(
                "this folder does not exist; dataset.path must be one in BEIR's layout",
                path=self.path,
            )
        return (self.path.resolve().name or "default",)

    def find_corpus(self, domain: str) -> Path:
        """Find corpus.jsonl, packed or not. Raises DataError where it is missing."""
        return self._find("corpus.jsonl")

    def read_contents(self) -> Contents:
        """Read the qrels, and the conversations with a judged turn. Raises DataError."""
        splits = {path.name.partition(".")[0] for path in (self.path / "qrels").glob("*.tsv*")}
        if splits and self.split not in splits:
            raise UnknownName("dataset.split", self.split, splits)
        qrels = self._find(f"qrels/{self.split}.tsv")
        conversations = read_queries(self._find("queries.jsonl"), self.domains()[0])
        grades = read_qrels(qrels, conversations)
        judged = [each for each in conversations if any(turn.id in grades for turn in each.turns)]
        return Contents(tuple(judged), grades)

    def _find(self, name: str) -> Path:
        """Find a file of the folder, packed or not. Raises DataError where it is missing."""
        names = [f"{name}{packed}" for packed in _PACKED]
        found = find_file([self.path], *names)
        if found is None:
            raise DataError(f"there is no {name}, as BEIR's layout has it", path=self.path)
        return found
