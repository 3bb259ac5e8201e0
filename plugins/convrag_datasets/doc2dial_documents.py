"""The documents of Doc2Dial and MultiDoc2Dial, and their spans, which are the passages."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from convrag import Document, Passage
from convrag.sdk.data.document_passages import cut_passages
from convrag.sdk.types import Heading
from convrag_datasets.files.json_rows import read_json_fields
from convrag_datasets.files.row import Row, UniqueIds

_SPAN_IDS = ("id_sp", "sp_id")
"""Doc2Dial's dialogues name spans by `sp_id`, all other files by `id_sp`."""


@dataclass(frozen=True)
class Span:
    """A span of a document.

    Args:
        name: its id in the document.
        start: its first character in the document's text.
        end: the character after its last one.
        heading: the heading of its section, if it has one.
    """

    name: str
    start: int
    end: int
    heading: Heading | None


@dataclass(frozen=True)
class SpannedDocument:
    """A document and its spans.

    Args:
        domain: of the document.
        document: the document.
        spans: in the order of the text.
    """

    domain: str
    document: Document
    spans: tuple[Span, ...]

    def cut(self) -> Iterator[Passage]:
        """Yield the spans as passages "DOCUMENT#SPAN" below the headings of their sections."""
        places = ((span.start, span.end) for span in self.spans)
        for span, passage in zip(self.spans, cut_passages(self.document, places), strict=True):
            yield replace(passage, id=format_span_id(self.document.id, span.name))


def format_span_id(document_id: str, span: str) -> str:
    """Return the id of the passage of a span."""
    return f"{document_id}#{span}"


def find_span(node: Row) -> str:
    """Return the id of the span that a row describes or refers to; empty where it has none."""
    if not any(node.has(name) for name in _SPAN_IDS):
        return ""
    return node.require_id(*_SPAN_IDS)


def read_documents(path: Path) -> Iterator[SpannedDocument]:
    """Stream the documents of a file.

    Its form is {"doc_data": {domain: {id: {"doc_text": ..., "spans": {id: {...}}}}}}.

    Raises:
        DataError: the file has another form, a span is not within its text, or a document or a span
            occurs twice.
    """
    ids = UniqueIds("document")
    for domain, documents in read_json_fields(path, "doc_data"):
        for name, row in documents.list_fields():
            ids.add(name, row)
            yield _read_document(row, domain, name)


def _read_document(node: Row, domain: str, name: str) -> SpannedDocument:
    text = node.get("doc_text").read_text()
    spans = _read_spans(node, text)
    headings = {span.heading for span in spans if span.heading is not None}
    document = Document(
        id=name,
        text=text,
        title=_read_title(node),
        headings=tuple(sorted(headings, key=_sort_key)),
    )
    return SpannedDocument(domain, document, tuple(spans))


def _read_title(node: Row) -> str:
    """Read the title without the number by which Doc2Dial tells equal ones apart ("DMV#3_0")."""
    title, _, _ = node.optional_text("title").partition("#")
    return title.strip()


def _sort_key(heading: Heading) -> tuple[int, int, str]:
    return (heading.start, heading.level, heading.text)


def _read_spans(node: Row, text: str) -> list[Span]:
    """Read the spans of a document in the order of its text."""
    if not node.has("spans"):
        return []
    ids = UniqueIds("span")
    spans = []
    for key, row in node.get("spans").list_fields():
        span = _read_span(row, key, text)
        ids.add(span.name, row)
        spans.append(span)
    return sorted(spans, key=lambda span: (span.start, span.end))


def _read_span(node: Row, key: str, text: str) -> Span:
    start = node.require_number("start_sp")
    end = node.require_number("end_sp")
    if not start <= end <= len(text):
        raise node.error(
            f"the span from {start} to {end} is not within the {len(text)} characters of 'doc_text'"
        )
    return Span(find_span(node) or key, start, end, _read_heading(node, text))


def _read_heading(node: Row, text: str) -> Heading | None:
    """Read the heading of a span's section, which is where the section begins."""
    title = node.optional_text("title").strip()
    if not title or not node.has("start_sec"):
        return None
    start = min(node.require_number("start_sec"), len(text))
    return Heading(start, 1 + _count_parents(node), title)


def _count_parents(node: Row) -> int:
    """Count the titles above the title of a span, in an object of lists or a list of objects."""
    if not node.has("parent_titles"):
        return 0
    parents = node.get("parent_titles")
    is_list = isinstance(parents.value, list)
    return len(parents.read_items() if is_list else parents.optional_items("text"))
