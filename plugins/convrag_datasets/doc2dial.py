"""dataset=doc2dial and dataset=multidoc2dial."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from convrag import Document, Passage
from convrag.sdk.lazy import Lazy
from convrag_datasets.doc2dial_dialogues import read_dialogues
from convrag_datasets.doc2dial_documents import SpannedDocument, read_documents
from convrag_datasets.file_dataset import Contents
from convrag_datasets.published_dataset import PublishedDataset, choose_domains, grade_passages


class Doc2dialDataset(PublishedDataset):
    """Doc2Dial: dialogues of users with agents, each about one document of a public service.

        python -m convrag dataset=doc2dial dataset.path=doc2dial/v1.0.1 retriever=bm25 history=gold

    `path` is the unpacked archive of doc2dial.github.io. The spans of the documents are the corpus,
    one for each domain (dmv, ssa, studentaid, va): the passage "DOCUMENT#SPAN" has the headings
    above it as its title, and knows its document. The spans that an agent's answer refers to are
    relevant (grade 1). Turn ids are dialogue_turn. Labels: `act` and `reply` (dialogue acts of user
    and agent), `answerability`. Source: Feng et al., doc2dial, EMNLP 2020.

    Args:
        path: the folder with doc2dial_doc.json and doc2dial_dial_validation.json.
        split: validation, train or test.
        domain: dmv, ssa, studentaid or va, several joined with "+", or "all" that are there.
    """

    name: ClassVar[str] = "doc2dial"
    """The beginning of the names of the files."""

    by_document: ClassVar[bool] = True
    """Whether the file of dialogues groups them by document."""

    source = "doc2dial, unpacked from doc2dial.github.io"
    corpus_code = (
        __name__,
        "convrag_datasets.doc2dial_documents",
        "convrag.sdk.data.document_passages",
    )

    def __init__(
        self,
        *,
        path: Path,
        split: Literal["validation", "train", "test"] = "validation",
        domain: str = "all",
    ) -> None:
        super().__init__(folders=[path, path / "v1.0.1", path / self.name], domain=domain)
        self._dialogue_file = f"{self.name}_dial_{split}.json"
        self._document_file = f"{self.name}_doc.json"
        self._documents = Lazy(self._read_documents)

    def list_files(self) -> Iterable[Path | None]:
        """List the dialogues and the documents."""
        return (self.find(self._dialogue_file), self.find(self._document_file))

    def read_contents(self) -> Contents:
        """Read the dialogues of the chosen domains. Raises DataError."""
        passages = {}
        for document in self._documents().values():
            for passage in document.cut():
                passages[passage.id] = passage
        path = self.require(self._dialogue_file)
        dialogues = read_dialogues(path, by_document=self.by_document, passages=passages)
        domains = self.domains()
        conversations = tuple(each for each in dialogues if each.domain in domains)
        return Contents(conversations, grade_passages(conversations))

    def domains(self) -> Sequence[str]:
        """Return the chosen domains.

        Raises:
            DataError: the folder has no documents.
            UnknownName: it lacks a domain.
        """
        known = sorted({document.domain for document in self._documents().values()})
        return choose_domains(self._domain, known)

    def find_corpus(self, domain: str) -> Path:
        """Find the file of the documents. Raises DataError where it is missing."""
        return self.require(self._document_file)

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Stream the spans of a domain's documents. Raises DataError."""
        for document in self._documents().values():
            if document.domain == domain:
                yield from document.cut()

    def document(self, domain: str, document_id: str) -> Document | None:
        """Find a document by its id. Raises DataError."""
        found = self._documents().get(document_id)
        if found is None or found.domain != domain:
            return None
        return found.document

    def _read_documents(self) -> dict[str, SpannedDocument]:
        path = self.require(self._document_file)
        return {document.document.id: document for document in read_documents(path)}


class Multidoc2dialDataset(Doc2dialDataset):
    """MultiDoc2Dial: dialogues of users with agents that go from document to document.

        python -m convrag dataset=multidoc2dial dataset.path=multidoc2dial history=gold

    As dataset=doc2dial, whose passages, labels and domains it has; each reference names its
    document. The first release has a dummy in the place of the test split. Source: Feng et al.,
    MultiDoc2Dial, EMNLP 2021.

    Args:
        path: the folder with multidoc2dial_doc.json and multidoc2dial_dial_validation.json.
        split: validation, train or test.
        domain: dmv, ssa, studentaid or va, several joined with "+", or "all" that are there.
    """

    name = "multidoc2dial"
    by_document = False
    source = "multidoc2dial, unpacked from doc2dial.github.io"
