"""Documents that were read, in the store, under the contents of their file and the reader that read them."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from convrag import Document, Store
from convrag.sdk.identity import digest
from convrag.sdk.storage import BATCH
from convrag.sdk.types import Heading

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_AT_ONCE = 4_000_000  # bytes that are written in one transaction


class Outcome(NamedTuple):
    """What a reader made of a file: the parts that it consists of, and what of it could not be read, and why.

    A file is one part, with an empty name; of a JSONL file, each line is one, named by its number.
    """

    parts: tuple[str, ...]
    reason: str


class DocumentStore:
    """Keeps documents, and what became of their files. Keys are made by the caller.

    Args:
        store: where. Several files are written at once: `flush` writes those that wait.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, bytes] = {}
        self._size = 0

    def get_outcomes(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Return key -> outcome, of the keys under which a file was read."""
        found: dict[str, Outcome] = {}
        for start in range(0, len(keys), BATCH):
            for key, row in self._store.get(keys[start : start + BATCH]).items():
                parts, reason = json.loads(row)
                found[key] = Outcome(tuple(parts), reason)
        return found

    def put(self, key: str, documents: Iterable[Document]) -> tuple[str, ...]:
        """Keep the documents of a file, and return the names of its parts, which are their ids."""
        parts: list[str] = []
        for document in documents:
            parts.append(document.id)
            self._put(_make_part_key(key, document.id), _list_fields(document))
        return tuple(parts)

    def put_outcome(self, key: str, outcome: Outcome) -> None:
        """Keep what became of a file; after its documents, so that they are there."""
        self._put(key, [outcome.parts, outcome.reason])

    def get(self, key: str, part: str, document_id: str) -> Document | None:
        """Return a part of a file, as the document with an id; None where the store has lost it."""
        part_key = _make_part_key(key, part)
        row = self._store.get([part_key]).get(part_key)
        return _make_document(document_id, json.loads(row)) if row else None

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting, self._size = self._waiting, {}, 0
        if waiting:
            self._store.put("documents.read", waiting)

    def _put(self, key: str, row: Sequence[object]) -> None:
        value = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        self._waiting[key] = value
        self._size += len(value)
        if self._size > _AT_ONCE:
            self.flush()


def _make_part_key(key: str, part: str) -> str:
    return digest([key, part])


def _list_fields(document: Document) -> list[object]:
    """List what a reader knows of a document. Half surrogate pairs, which are no characters, are replaced."""
    text, title, url = (_HALF_PAIR.sub("\ufffd", each) for each in (document.text, document.title, document.url))
    headings = [[each.start, each.level, _HALF_PAIR.sub("\ufffd", each.text)] for each in document.headings]
    return [text, title, url, headings, document.pages, document.page_name]


def _make_document(document_id: str, fields: Sequence[Any]) -> Document:
    text, title, url, headings, pages, page_name = fields
    return Document(document_id, text, title, url, tuple(Heading(*each) for each in headings), tuple(pages), page_name)
