"""The base of data sets whose conversations are about the passages of another data set."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from convrag import Dataset, Document, Passage
from convrag.sdk.types import CorpusPart


class BorrowedCorpusDataset(Dataset):
    """Conversations over the corpora of another data set.

    Args:
        corpus: the other data set.
    """

    def __init__(self, corpus: Dataset) -> None:
        self.corpus_dataset = corpus

    def domains(self) -> Sequence[str]:
        """Return the domains of the corpus's data set."""
        return self.corpus_dataset.domains()

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Stream the passages of the corpus's data set. Raises DataError."""
        return self.corpus_dataset.corpus(domain)

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        """Yield the parts of the corpus's data set."""
        return self.corpus_dataset.corpus_parts(domain)

    def corpus_fingerprint(self, domain: str) -> str:
        """Return the fingerprint of the corpus's data set, so that both use one index."""
        return self.corpus_dataset.corpus_fingerprint(domain)

    def document(self, domain: str, document_id: str) -> Document | None:
        """Return a document of the corpus's data set."""
        return self.corpus_dataset.document(domain, document_id)

    def document_file(self, domain: str, document_id: str) -> Path | None:
        """Return the file of a document of the corpus's data set."""
        return self.corpus_dataset.document_file(domain, document_id)

    def explain_missing_corpus(self, domain: str) -> str:
        """Return the explanation of the corpus's data set."""
        return self.corpus_dataset.explain_missing_corpus(domain)
