"""The document that a passage of a conversation was cut from, with the passage's place in it."""

from collections.abc import Sequence
from typing import Any

from convrag import Document, Passage, TurnRecord
from convrag_web.server.errors import RequestError

LONGEST = 1_000_000
"""Characters of a document that are sent; of a longer one, those around the passage."""


def find_passage(records: Sequence[TurnRecord], passage_id: str) -> tuple[str, Passage]:
    """Find a passage that a conversation's newest turn with it has found or shown, and the domain of that turn.

    Raises:
        RequestError: no turn has it.
    """
    for record in reversed(records):
        passages = [*(hit.passage for hit in record.hits), *(item.passage for item in record.evidence.items)]
        for passage in passages:
            if passage.id == passage_id:
                return record.domain, passage
    raise RequestError(404, "no turn of this conversation has such a passage", param="passage", code="not_found")


def get_document_id(passage: Passage) -> str:
    """Return the id of the document that a passage was cut from. Raises RequestError where it was cut from none."""
    document_id = passage.metadata.get("document")
    if not isinstance(document_id, str):
        raise RequestError(404, "this passage was not cut from a document", param="passage", code="no_document")
    return document_id


def show_document(document: Document, passage: Passage) -> dict[str, Any]:
    """Show a document as `schemas.ShownDocument`: its text, and where the passage stands in it today."""
    length = len(document.text)
    span = _find_span(document.text, passage)
    middle = span[0] if span else 0
    first = max(0, min(middle - LONGEST // 2, length - LONGEST))
    last = min(length, first + LONGEST)
    return {
        "id": document.id,
        "title": document.title,
        "url": document.url,
        "text": document.text[first:last],
        "first": first,
        "last": last,
        "length": length,
        "headings": [
            {"start": heading.start - first, "level": heading.level, "text": heading.text}
            for heading in document.headings
            if first <= heading.start < last
        ],
        "pages": [
            {"start": start - first, "number": number}
            for number, start in enumerate(document.pages, 1)
            if first <= start < last
        ],
        "page_name": document.page_name,
        "passage": {"start": span[0] - first, "end": min(span[1], last) - first} if span else None,
    }


def _find_span(text: str, passage: Passage) -> tuple[int, int] | None:
    """Find a passage in the text of its document, which may have changed since; None where it has no such text."""
    start, end = passage.metadata.get("start"), passage.metadata.get("end")
    if isinstance(start, int) and isinstance(end, int) and 0 <= start < end and text[start:end] == passage.text:
        return start, end
    found = text.find(passage.text) if passage.text else -1
    return (found, found + len(passage.text)) if found >= 0 else None
