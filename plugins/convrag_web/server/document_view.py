"""A document with the place of a passage in it, as the page and the pages of sources show it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from convrag import Document, Passage, TurnRecord
from convrag_web.server.errors import RequestError

MAX_CHARACTERS = 1_000_000
"""The characters of a document that are sent; of a longer one, those around the passage."""


def find_passage(records: Sequence[TurnRecord], passage_id: str) -> tuple[str, Passage]:
    """Find a passage in the newest turn that has it, and return it after the turn's domain.

    Raises:
        RequestError: no turn has retrieved or shown it.
    """
    for record in reversed(records):
        retrieved = [hit.passage for hit in record.hits]
        shown = [item.passage for item in record.evidence.items]
        for passage in retrieved + shown:
            if passage.id == passage_id:
                return record.domain, passage
    message = "no turn of this conversation has such a passage"
    raise RequestError(404, message, param="passage", code="not_found")


def get_document_id(passage: Passage) -> str:
    """Return the id of the document that a passage was cut from.

    Raises:
        RequestError: it was not cut from a document.
    """
    document_id = passage.metadata.get("document")
    if not isinstance(document_id, str):
        message = "this passage was not cut from a document"
        raise RequestError(404, message, param="passage", code="no_document")
    return document_id


def show_document(document: Document, passage: Passage) -> dict[str, Any]:
    """Describe a document as `ShownDocument`: its text, and where the passage is in it today."""
    span = _find_span(document.text, passage)
    first, last = _choose_part(len(document.text), span[0] if span else 0)
    headings = [
        asdict(heading) | {"start": heading.start - first}
        for heading in document.headings
        if first <= heading.start < last
    ]
    pages = [
        {"start": start - first, "number": number}
        for number, start in enumerate(document.pages, start=1)
        if first <= start < last
    ]
    shown_span = None
    if span:
        shown_span = {"start": span[0] - first, "end": min(span[1], last) - first}
    return {
        "id": document.id,
        "title": document.title,
        "url": document.url,
        "page_name": document.page_name,
        "text": document.text[first:last],
        "first": first,
        "last": last,
        "length": len(document.text),
        "headings": headings,
        "pages": pages,
        "passage": shown_span,
    }


def _choose_part(length: int, middle: int) -> tuple[int, int]:
    """Choose the part of a text that is sent, around a character: its first one, and its end."""
    latest_start = length - MAX_CHARACTERS
    first = max(0, min(middle - MAX_CHARACTERS // 2, latest_start))
    return first, min(length, first + MAX_CHARACTERS)


def _find_span(text: str, passage: Passage) -> tuple[int, int] | None:
    """Find a passage in its document, which may have changed; None if it is not there any more."""
    start = passage.metadata.get("start")
    end = passage.metadata.get("end")
    if isinstance(start, int) and isinstance(end, int):
        is_there = 0 <= start < end and text[start:end] == passage.text
        if is_there:
            return start, end
    if not passage.text or passage.text not in text:
        return None
    start = text.index(passage.text)
    return start, start + len(passage.text)
