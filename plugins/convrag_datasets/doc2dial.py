"""dataset=doc2dial and dataset=multidoc2dial: dialogues about documents of public services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from convrag import Document, Passage
from convrag.sdk.lazy import Lazy
from convrag_datasets.doc2dial_dialogues import read_dialogues
from convrag_datasets.doc2dial_documents import SpannedDocument, read_documents
from convrag_datasets.file_dataset import Contents, choose_domains, grade_passages
from convrag_datasets.published import PublishedDataset


class Doc2dialDataset(PublishedDataset):
    """Doc2Dial: dialogues of users with agents, each about one document of a public service.

        python -m convrag dataset=doc2dial dataset.path=doc2dial/v1.0.1 retriever=bm25 history=gold limit=50

    `path` is the unpacked archive of doc2dial.github.io. The spans of the documents are the corpus, one for each domain
    (dmv, ssa, studentaid, va): the passage "DOCUMENT#SPAN" has the headings that it stands under as its title, and
    knows its document. The spans that an agent's answer refers to are relevant (grade 1). Turn ids are dialogue_turn.
    Labels: `act` and `reply` (dialogue acts of user and agent), `answerability`. Source: Feng et al., EMNLP 2020.

    Args:
        path: the folder with doc2dial_doc.json and doc2dial_dial_validation.json.
        split: validation, train or test.
        domain: dmv, ssa, studentaid or va, several joined with "+", or "all" that are there.
    """

    name: ClassVar[str] = "doc2dial"
    source = "doc2dial, unpacked from doc2dial.github.io"
    by_document: ClassVar[bool] = True
    corpus_code = ("convrag_datasets.doc2dial_documents", "convrag.sdk.document_passages")

    def __init__(
        self, *, path: Path, split: Literal["validation", "train", "test"] = "validation", domain: str = "all"
    ) -> None:
        super().__init__(folders=[path, path / "v1.0.1", path / self.name], domain=domain)
        self._split = split
        self._documents = Lazy(self._read_documents)

    def list_files(self) -> Iterable[Path | None]:
        """The dialogues and the documents."""
        return (self.find(self._name_file(part)) for part in (f"dial_{self._split}", "doc"))

    def read_contents(self) -> Contents:
        """Read the dialogues of the chosen domains. Raises DataError."""
        passages = {passage.id: passage for each in self._documents().values() for passage in each.cut()}
        domains = self.domains()
        path = self._find(f"dial_{self._split}")
        dialogues = read_dialogues(path, by_document=self.by_document, passages=passages)
        conversations = tuple(each for each in dialogues if each.domain in domains)
        return Contents(conversations, grade_passages(conversations))

    def domains(self) -> Sequence[str]:
        """The chosen domains. Raises DataError for a folder without documents, UnknownName for a domain it lacks."""
        known = sorted({each.domain for each in self._documents().values()})
        if self._domain == "all":
            return known
        return choose_domains(self._domain, known, "dataset.domain", "all")

    def find_corpus(self, domain: str) -> Path:
        """The file of the documents. Raises DataError where it is missing."""
        return self._find("doc")

    def read_corpus(self, path: Path, domain: str) -> Iterator[Passage]:
        """Yield the spans of a domain's documents. Raises DataError."""
        return (passage for each in self._documents().values() if each.domain == domain for passage in each.cut())

    def document(self, domain: str, document_id: str) -> Document | None:
        """Find a document by its id. Raises DataError."""
        found = self._documents().get(document_id)
        return found.document if found and found.domain == domain else None

    def _read_documents(self) -> dict[str, SpannedDocument]:
        return {each.document.id: each for each in read_documents(self._find("doc"))}

    def _find(self, part: str) -> Path:
        return self.require(self._name_file(part))

    def _name_file(self, part: str) -> str:
        return f"{self.name}_{part}.json"


class Multidoc2dialDataset(Doc2dialDataset):
    """MultiDoc2Dial: dialogues of users with agents that go from document to document of a public service.

        python -m convrag dataset=multidoc2dial dataset.path=multidoc2dial retriever=bm25 history=gold limit=50

    As dataset=doc2dial, whose parameters it has; each reference names its document. Source: Feng et al., EMNLP 2021.

    Args:
        path: the folder with multidoc2dial_doc.json and multidoc2dial_dial_validation.json.
        split: validation, train or test.
        domain: dmv, ssa, studentaid or va, several joined with "+", or "all" that are there.
    """

    name = "multidoc2dial"
    source = "multidoc2dial, unpacked from doc2dial.github.io"
    by_document = False
