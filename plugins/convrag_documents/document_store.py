"""Documents that were read, in the store, under the contents of their file and the reader that read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from convrag import Document, Heading
from convrag.store.fingerprint import digest
from convrag.store.marked_json import MarkedJson
from convrag.store.store import BATCH, Store

_JSON = MarkedJson({"Document": Document, "Heading": Heading})
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_AT_ONCE = 4_000_000  # characters of documents that are written in one transaction


class Outcome(NamedTuple):
    """What a reader made of a file: the parts that it consists of, and what of it could not be read, and why.

    A file is one part, with an empty name; of a JSONL file, each line is one, named by its number.
    """

    parts: tuple[str, ...]
    reason: str


class DocumentStore:
    """Keeps documents, and what was said of files that are none. Keys are made by the caller.

    Args:
        store: where.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def get_outcomes(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Return key -> outcome, of the keys under which a file was read."""
        found: dict[str, Outcome] = {}
        for start in range(0, len(keys), BATCH):
            rows = self._store.get(keys[start : start + BATCH])
            found |= {
                key: Outcome(tuple(parts), reason) for key, row in rows.items() for parts, reason in [_JSON.read(row)]
            }
        return found

    def put(self, key: str, documents: Iterable[Document]) -> tuple[str, ...]:
        """Keep the documents of a file, and return the names of its parts, which are their ids."""
        parts: list[str] = []
        waiting: dict[str, bytes] = {}
        size = 0
        for document in documents:
            parts.append(document.id)
            waiting[_make_part_key(key, document.id)] = _JSON.write(_mend(document))
            size += len(document.text)
            if size > _AT_ONCE:
                self._store.put("documents.document", waiting)
                waiting, size = {}, 0
        self._store.put("documents.document", waiting)
        return tuple(parts)

    def put_outcome(self, key: str, outcome: Outcome) -> None:
        """Keep what became of a file; after its documents, so that they are there."""
        self._store.put("documents.file", {key: _JSON.write([list(outcome.parts), outcome.reason])})

    def get(self, key: str, part: str, document_id: str) -> Document | None:
        """Return a part of a file, as the document with an id; None where the store has lost it."""
        part_key = _make_part_key(key, part)
        row = self._store.get([part_key]).get(part_key)
        return replace(_JSON.read(row), id=document_id) if row else None


def _make_part_key(key: str, part: str) -> str:
    return digest([key, part])


def _mend(document: Document) -> Document:
    """Replace half surrogate pairs, which damaged files hold and which are no characters. No position changes."""
    if not any(map(_HALF_PAIR.search, [document.text, document.title, *(each.text for each in document.headings)])):
        return document
    return replace(
        document,
        text=_HALF_PAIR.sub("\ufffd", document.text),
        title=_HALF_PAIR.sub("\ufffd", document.title),
        headings=tuple(replace(each, text=_HALF_PAIR.sub("\ufffd", each.text)) for each in document.headings),
    )
