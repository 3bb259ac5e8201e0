"""Judgements of documents: of their passages, of their pages, or of whole documents."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from convrag import Dataset, Document, Passage, Store
from convrag.sdk.search.corpus import open_passages
from convrag_datasets.file_dataset import Grades
from convrag_datasets.files.qrels import find_judgement

_PAGE = re.compile(r"(.+)#page=([1-9][0-9]{0,8})", re.DOTALL)
"""The id of a page, as in an address: "policies/leave.pdf#page=3"."""


class _Page(NamedTuple):
    """A page of a document, from 1."""

    document: str
    number: int


def resolve_judgements(
    grades: Grades, path: Path, dataset: Dataset, domain: str, store: Store | None
) -> Grades:
    """Replace judged pages by the passages on them; passages and documents stay as they are.

    A passage that is judged itself, too, keeps its own grade. One of several pages has the highest.

    Args:
        grades: turn id -> id of a passage, a page or a document -> grade.
        path: the file of the judgements, for messages.
        dataset: has the corpus.
        domain: of the corpus.
        store: where the passages are looked up; without it, they are all read.

    Raises:
        DataError: an id is of no passage, page or document; the message names the line.
    """
    judged = {name for turn_grades in grades.values() for name in turn_grades}
    places = _Places(dataset, domain)
    pages = {}
    unknown = set()
    for name in _list_missing(judged, dataset, domain, store):
        page = places.find_page(name)
        if page is not None:
            pages[name] = page
        elif places.find_document(name) is None:
            unknown.add(name)
    if unknown:
        _refuse(path, unknown, judged, places)
    passages = places.list_passages(pages)
    empty = {name for name, found in passages.items() if not found}
    if empty:
        line, name = find_judgement(path, empty)
        raise line.error(f"the page {name!r} has no text, so no passage of it can be found")
    return {turn: _replace_pages(each, passages) for turn, each in grades.items()}


def _refuse(path: Path, unknown: set[str], judged: set[str], places: "_Places") -> None:
    """Raise DataError at the first line with an unknown id."""
    line, name = find_judgement(path, unknown)
    reason = places.explain_page(name)
    example = places.get_example()
    raise line.error(
        f"{len(unknown)} of {len(judged)} judged ids are in no document of the corpus, {name!r} "
        f"for instance{reason}. An id is a document's ({example.document!r}), a page's "
        f"('NAME.pdf#page=1') or a passage's ({example.passage!r}; the chunker numbers them)"
    )


def _list_missing(
    judged: Iterable[str], dataset: Dataset, domain: str, store: Store | None
) -> list[str]:
    """List the judged ids that no passage has, sorted."""
    source = open_passages(dataset, domain, store) if store else None
    if source is not None:
        return source.list_missing(judged)
    known = {passage.id for passage in dataset.corpus(domain)}
    return sorted(set(judged) - known)


def _replace_pages(
    grades: Mapping[str, int], passages: Mapping[str, Iterable[str]]
) -> dict[str, int]:
    replaced: dict[str, int] = {}
    for name, grade in grades.items():
        for passage in passages.get(name, ()):
            replaced[passage] = max(grade, replaced.get(passage, grade))
    return replaced | {name: grade for name, grade in grades.items() if name not in passages}


class _Example(NamedTuple):
    """The ids of a passage of the corpus, and of its document."""

    passage: str
    document: str


class _Places:
    """The documents of a corpus, and the pages of its passages."""

    def __init__(self, dataset: Dataset, domain: str) -> None:
        self._dataset = dataset
        self._domain = domain
        self._documents: dict[str, Document | None] = {}

    def find_document(self, document_id: str) -> Document | None:
        """Return the document with an id; None where there is none."""
        if document_id not in self._documents:
            document = self._dataset.document(self._domain, document_id)
            self._documents[document_id] = document
        return self._documents[document_id]

    def find_page(self, name: str) -> _Page | None:
        """Return the page with an id ("leave.pdf#page=3"); None where there is none."""
        match = _PAGE.fullmatch(name)
        document = self.find_document(match[1]) if match else None
        if match is None or document is None:
            return None
        number = int(match[2])
        return _Page(match[1], number) if number <= len(document.pages) else None

    def explain_page(self, name: str) -> str:
        """Say how many pages the document of a page has; empty where an id is of no page."""
        match = _PAGE.fullmatch(name)
        document = self.find_document(match[1]) if match else None
        return "" if document is None else f" ({document.id} has {len(document.pages)} pages)"

    def list_passages(self, pages: Mapping[str, _Page]) -> dict[str, list[str]]:
        """List the passages of which a part is on a page: id of the page -> ids of passages."""
        found: dict[str, list[str]] = {name: [] for name in pages}
        names = {page: name for name, page in pages.items()}
        documents = {page.document for page in names}
        if not documents:
            return found
        for passage in self._dataset.corpus(self._domain):
            if passage.document in documents:
                for page in self._list_pages(passage):
                    if page in names:
                        found[names[page]].append(passage.id)
        return found

    def _list_pages(self, passage: Passage) -> Iterator[_Page]:
        document = self.find_document(passage.document)
        if document is None:
            return
        first = document.find_page(int(passage.metadata["start"])) or 1
        last = document.find_page(max(int(passage.metadata["end"]) - 1, 0)) or first
        for number in range(first, last + 1):
            yield _Page(passage.document, number)

    def get_example(self) -> _Example:
        """Return the ids of the first passage."""
        for passage in self._dataset.corpus(self._domain):
            return _Example(passage.id, passage.document or passage.id)
        return _Example("", "")
