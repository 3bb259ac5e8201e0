"""Documents of Doc2Dial and MultiDoc2Dial, cut into the spans that dialogues refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from convrag import Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag.sdk.types import Heading
from convrag_datasets.row_files import read_json_fields
from convrag_datasets.rows import Row, UniqueIds

_ROOT = "doc_data"


class Span(NamedTuple):
    """A span of a document: its id there, and its characters in the document's text."""

    name: str
    start: int
    end: int


class SpannedDocument(NamedTuple):
    """A document, its domain, and its spans in the order of the text."""

    domain: str
    document: Document
    spans: tuple[Span, ...]

    def cut(self) -> Iterator[Passage]:
        """Yield the spans as passages, "DOCUMENT#SPAN", with the headings that they stand under as title."""
        cut = cut_passages(self.document, ((span.start, span.end) for span in self.spans))
        for span, passage in zip(self.spans, cut, strict=True):
            yield replace(passage, id=format_span(self.document.id, span.name))


def format_span(document_id: str, name: str) -> str:
    """The id of the passage that a span is."""
    return f"{document_id}#{name}"


def read_documents(path: Path) -> Iterator[SpannedDocument]:
    """Stream the documents of a file: {"doc_data": {domain: {id: {"doc_text": ..., "spans": {id: {...}}}}}}.

    Raises:
        DataError: the file has another form, a span is not within its text, or a document or a span occurs twice.
    """
    ids = UniqueIds("document")
    for domain, documents in read_json_fields(path, _ROOT):
        for name, row in documents.list_fields():
            ids.add(name, row)
            yield _read_document(row, domain, name)


def _read_document(node: Row, domain: str, name: str) -> SpannedDocument:
    text = node.get("doc_text").read_text()
    fields = [
        (key, each, *_read_bounds(each, text))
        for key, each in (node.get("spans").list_fields() if node.has("spans") else ())
    ]
    fields.sort(key=lambda field: (field[2], field[3]))
    spans = tuple(Span(_read_name(key, each), start, end) for key, each, start, end in fields)
    if len({span.name for span in spans}) < len(spans):
        raise node.error("two spans have the same id")
    headings = dict.fromkeys(heading for key, each, *_ in fields for heading in _read_headings(each, text))
    title = node.optional_text("title").partition("#")[0].strip()  # Doc2Dial numbers equal titles: "Top 5 DMV#3_0"
    document = Document(name, text, title, headings=tuple(sorted(headings, key=lambda each: each.start)))
    return SpannedDocument(domain, document, spans)


def _read_name(key: str, node: Row) -> str:
    return node.require_id("id_sp", "sp_id") if node.has("id_sp") or node.has("sp_id") else key


def _read_bounds(node: Row, text: str) -> tuple[int, int]:
    start, end = node.require_number("start_sp"), node.require_number("end_sp")
    if not start <= end <= len(text):
        raise node.error(f"the span from {start} to {end} is not within the {len(text)} characters of 'doc_text'")
    return start, end


def _read_headings(node: Row, text: str) -> Iterator[Heading]:
    """The heading of a span's section, where the section begins, under those above it."""
    title = node.optional_text("title").strip()
    if not title or not node.has("start_sec"):
        return
    start = min(node.require_number("start_sec"), len(text))
    yield Heading(start, 1 + _count_parents(node), title)


def _count_parents(node: Row) -> int:
    """How many titles stand above the title of a span; `parent_titles` is an object of lists, or a list of objects."""
    if not node.has("parent_titles"):
        return 0
    parents = node.get("parent_titles")
    return len(parents.read_items() if isinstance(parents.value, list) else parents.optional_items("text"))
