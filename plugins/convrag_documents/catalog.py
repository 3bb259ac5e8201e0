"""The documents of a folder as they are now: new and changed files are read, the others are in the store."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from convrag import DataError, Document, Store
from convrag.sdk.identity import digest
from convrag.sdk.progress import track
from convrag.sdk.storage import BATCH
from convrag.sdk.types import Heading
from convrag_documents.find_files import FoundFile, FoundFiles
from convrag_documents.readers import Reader, find_reader
from convrag_documents.unreadable import Unreadable, UnreadFile, read_bytes, shorten_reason

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file whose documents are in the store, under a key made of its contents and its reader."""

    file: FoundFile
    reader: Reader
    content: str
    parts: tuple[str, ...]

    @property
    def key(self) -> str:
        """Under which its documents are kept."""
        return self.reader.make_key(self.content)

    def list_documents(self) -> Iterator[tuple[str, str]]:
        """Yield (part, id of the document). A part of the file faq.jsonl, its line 3, has the id "faq.jsonl:3"."""
        for part in self.parts:
            yield part, f"{self.file.id}:{part}" if part else self.file.id


@dataclass(frozen=True)
class Catalog:
    """The files that were read, by id, and those that were not, or not whole."""

    files: tuple[ReadFile, ...]
    unread: tuple[UnreadFile, ...]


class CatalogReader:
    """Reads the files of a folder into the store.

    Args:
        store: keeps the documents.
        limit: bytes; larger files are not read.
    """

    def __init__(self, store: Store, limit: int) -> None:
        self._store = store
        self._documents = DocumentStore(store)
        self._limit = limit

    def read(self, found: FoundFiles, key: str) -> Catalog:
        """Read what is new or changed.

        Args:
            found: the files of the folder.
            key: of the folder, under which the times of its files are kept.
        """
        unread = list(found.unread)
        readers: dict[str, Reader] = {}
        for file in found.files:
            if reader := find_reader(file):
                readers[file.id] = reader
            else:
                unread.append(UnreadFile(file.id, "there is no reader for files of this kind", other_kind=True))
        wanted = [file for file in found.files if file.id in readers]
        with self._store.lock([f"documents/{key}"]):  # a second process waits, and then finds everything read
            files = self._read_wanted(wanted, readers, key, unread)
        for each in unread:
            log.info("not read: %s (%s)", each.id, each.reason)
        return Catalog(tuple(files), tuple(sorted(unread)))

    def load(self, read: ReadFile, part: str, document_id: str) -> Document:
        """Load a document of a file. Raises DataError where the store has lost it and the file has changed."""
        found = self._documents.get(read.key, part, document_id)
        if found is None:  # the store has lost it
            self._read_again(read)
            found = self._documents.get(read.key, part, document_id)
        if found is None:
            raise DataError("this file has changed since it was read: start again", path=read.file.path)
        return found

    def _read_wanted(
        self, wanted: Sequence[FoundFile], readers: Mapping[str, Reader], key: str, unread: list[UnreadFile]
    ) -> list[ReadFile]:
        """Read files, or find them as they were read before. Adds to `unread`."""
        old = load_times(self._store, key)
        times = {file.id: seen for file in wanted if (seen := old.get(file.id)) and self._is_current(file, seen)}
        keys = {file_id: readers[file_id].make_key(seen.content) for file_id, seen in times.items()}
        outcomes = self._documents.get_outcomes(list(keys.values()))
        known = {file_id: outcomes[each] for file_id, each in keys.items() if each in outcomes}
        new = [file for file in wanted if file.id not in known]
        try:
            for file in track(new, "Reading documents", len(new)) if new else ():
                try:
                    times[file.id], known[file.id] = self._read_file(file, readers[file.id])
                except Unreadable as error:
                    unread.append(UnreadFile(file.id, error.reason))
        finally:  # what was read until an interruption is kept
            self._documents.flush()
            if times != old:
                save_times(self._store, key, times)
        files = []
        for file in wanted:
            if outcome := known.get(file.id):
                if outcome.parts:
                    files.append(ReadFile(file, readers[file.id], times[file.id].content, outcome.parts))
                if outcome.reason:
                    unread.append(UnreadFile(file.id, outcome.reason))
        return files

    def _is_current(self, file: FoundFile, seen: FileTimes) -> bool:
        """Whether a file is as it was read, and not too large by now."""
        try:
            status = os.stat(file.path, follow_symlinks=False)  # noqa: PTH116
        except OSError:
            return False
        return status.st_size <= self._limit and seen.is_current(status)

    def _read_file(self, file: FoundFile, reader: Reader) -> tuple[FileTimes, Outcome]:
        """Read a file, unless the store has what a file of the same contents gave."""
        content, status = read_bytes(file.path, self._limit)
        times = FileTimes(*_describe(status), time.time_ns(), _hash(content))
        key = reader.make_key(times.content)
        known = self._documents.get_outcomes([key]).get(key)
        return times, known or _parse(content, reader, key, file.id, self._documents)

    def _read_again(self, read: ReadFile) -> None:
        """Read a file again, if it has not changed."""
        with suppress(Unreadable):
            content, _ = read_bytes(read.file.path, self._limit)
            if _hash(content) == read.content:
                documents = DocumentStore(self._store)  # of its own: several threads may be here
                _parse(content, read.reader, read.key, read.file.id, documents)
                documents.flush()


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()


def _parse(content: bytes, reader: Reader, key: str, file_id: str, documents: DocumentStore) -> Outcome:
    """Let the reader read; whatever it raises, other files are read."""
    reasons: list[str] = []

    def attempt() -> Iterator[Document]:
        try:
            yield from (document for document in reader.read(content) if document.text.strip())
        except Unreadable as error:
            reasons.append(error.reason)
        except MemoryError as error:  # another time, there may be enough
            raise Unreadable("there is not enough memory to read it") from error
        except Exception as error:
            log.debug("%s cannot be read", file_id, exc_info=error)
            message = f"this is no {reader.format}, or damaged: {type(error).__name__}: {error}"
            reasons.append(shorten_reason(message))

    parts = documents.put(key, attempt())
    if not parts and not reasons:
        reasons.append("there is no text in it")
    outcome = Outcome(parts, "".join(reasons))
    documents.put_outcome(key, outcome)
    return outcome


_TICK = 2_000_000_000
"""Nanoseconds of the coarsest clock of a file system: FAT's."""


class FileTimes(NamedTuple):
    """What the system says of a file, and what was known when it was read: times are nanoseconds since 1970."""

    size: int
    modified: int
    changed: int
    inode: int
    read: int
    content: str

    def is_current(self, status: os.stat_result) -> bool:
        """Whether the file is as it was read."""
        same = (self.size, self.modified, self.changed, self.inode) == _describe(status)
        return same and max(self.modified, self.changed) + _TICK < self.read


def load_times(store: Store, key: str) -> dict[str, FileTimes]:
    """Load the entries of a folder's files: id -> entry. None where nothing is known."""
    return {file_id: FileTimes(*row) for file_id, row in json.loads(store.get([key]).get(key, b"{}")).items()}


def save_times(store: Store, key: str, entries: Mapping[str, FileTimes]) -> None:
    """Keep the entries of a folder's files, in place of those that were kept."""
    store.put("documents.times", {key: json.dumps(entries).encode("utf-8", "surrogatepass")})


def _describe(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


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
