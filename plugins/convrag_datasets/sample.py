"""dataset=sample: the conversations that come with convrag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from convrag import Conversation, Dataset, Passage
from convrag_datasets.jsonl import JsonlDataset


class SampleDataset(Dataset):
    """A small bundled data set about the Moon and spaceflight: for a first run, with no download.

    It has topic switches, pronouns, ellipsis and unanswerable questions, with qrels and reference answers. It is too
    small to compare systems on.
    """

    def __init__(self) -> None:
        folder = Path(str(resources.files(__package__).joinpath("sample")))
        self._files = JsonlDataset(
            conversations=folder / "conversations.jsonl",
            corpus=folder / "corpus.jsonl",
            qrels=folder / "qrels" / "dev.tsv",
        )

    def check(self) -> Iterable[str]:
        """The errors of the bundled files: none, unless the installation is damaged."""
        return self._files.check()

    def content_hash(self) -> str:
        """A hash of all files."""
        return self._files.content_hash()

    def conversations(self) -> Iterator[Conversation]:
        """Yield the conversations in the order of the file."""
        return self._files.conversations()

    def domains(self) -> Sequence[str]:
        """The one domain of all."""
        return self._files.domains()

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages."""
        return self._files.corpus(domain)

    def corpus_fingerprint(self, domain: str) -> str:
        """A hash of the corpus file."""
        return self._files.corpus_fingerprint(domain)

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Turn id -> passage id -> grade of relevance."""
        return self._files.qrels()
