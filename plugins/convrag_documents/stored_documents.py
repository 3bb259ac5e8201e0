"""The form in which the store keeps the documents of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from convrag import Document
from convrag.sdk.data.fields import FieldValue
from convrag.sdk.identity import digest
from convrag.sdk.types import Heading

_HALF_PAIR = re.compile("[\ud800-\udfff]")


class Outcome(NamedTuple):
    """The result of reading a file.

    Args:
        parts: the names of the parts that were read. Most files are one part, with an empty name;
            each line of a JSONL file is a part, named by its number.
        reason: why the file, or some of it, could not be read; empty if all was.
    """

    parts: list[str]
    reason: str


def make_part_key(key: str, part: str) -> str:
    """Make the key of a part of a file from the key of the file."""
    return digest([key, part])


def dump_row(row: Sequence[object]) -> bytes:
    """Write plain data as JSON."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def dump_document(document: Document) -> bytes:
    """Write a document without its id, which depends on the file that it is read from."""
    headings = [
        [heading.start, heading.level, _replace_half_pairs(heading.text)]
        for heading in document.headings
    ]
    row: list[object] = [
        _replace_half_pairs(document.text),
        _replace_half_pairs(document.title),
        _replace_half_pairs(document.url),
        headings,
        document.pages,
        document.page_name,
    ]
    fields = document.metadata.get("fields")
    if fields:
        row.append({name: _clean_field(value) for name, value in fields.items()})
    return dump_row(row)


def _clean_field(value: FieldValue) -> FieldValue:
    """Replace halves of surrogate pairs in a value of a field."""
    if isinstance(value, list):
        return [_replace_half_pairs(text) for text in value]
    return _replace_half_pairs(value) if isinstance(value, str) else value


def parse_document(document_id: str, row: bytes) -> Document:
    """Read a document that `dump_document` wrote."""
    text, title, url, headings, pages, page_name, *fields = json.loads(row)
    return Document(
        document_id,
        text,
        title,
        url,
        tuple(Heading(*heading) for heading in headings),
        tuple(pages),
        page_name,
        {"fields": fields[0]} if fields else {},
    )


def _replace_half_pairs(text: str) -> str:
    """Replace halves of surrogate pairs, which are not characters."""
    return _HALF_PAIR.sub("\ufffd", text)
