"""The documents of a folder as they are now: new and changed files are read, the others are in the
store.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from convrag import ConvragError, DataError, Document, Store
from convrag.sdk.identity import digest
from convrag.sdk.output.progress import track
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
    parts: list[str]

    @property
    def key(self) -> str:
        """Under which its documents are kept."""
        return self.reader.make_key(self.content)

    def list_documents(self) -> Iterator[tuple[str, str]]:
        """Yield (part, id of the document). A part of the file faq.jsonl, its line 3, has the id
        "faq.jsonl:3".
        """
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
        docling: whether docling reads what it can.
    """

    def __init__(self, store: Store, limit: int, *, docling: bool = False) -> None:
        self._store = store
        self._limit = limit
        self._docling = docling

    def read(self, found: FoundFiles, key: str) -> Catalog:
        """Read what is new or changed.

        Args:
            found: the files of the folder.
            key: of the folder, under which the times of its files are kept.
        """
        unread = list(found.unread)
        readers: dict[str, Reader] = {}
        for file in found.files:
            if reader := find_reader(file, docling=self._docling):
                readers[file.id] = reader
            else:
                unread.append(
                    UnreadFile(
                        file.id, "there is no reader for files of this kind", other_kind=True
                    )
                )
        wanted = [file for file in found.files if file.id in readers]
        with self._store.lock(
            [f"documents/{key}"]
        ):  # a second process waits, and then finds everything read
            files = self._read_wanted(wanted, readers, key, unread)
        for each in unread:
            log.info("not read: %s (%s)", each.id, each.reason)
        return Catalog(tuple(files), tuple(sorted(unread)))

    def load(self, read: ReadFile, part: str, document_id: str) -> Document:
        """Load a document of a file. Raises DataError where the store has lost it and the file has
        changed.
        """
        key = _make_part_key(read.key, part)
        if not (row := self._store.get([key]).get(key)):  # the store has lost it
            self._read_again(read)
            row = self._store.get([key]).get(key)
        if not row:
            raise DataError(
                "this file has changed since it was read: start again", path=read.file.path
            )
        return _make_document(document_id, json.loads(row))

    def _read_wanted(
        self,
        wanted: Sequence[FoundFile],
        readers: Mapping[str, Reader],
        key: str,
        unread: list[UnreadFile],
    ) -> list[ReadFile]:
        """Read files, or find them as they were read before. Adds to `unread`."""
        old = load_times(self._store, key)
        times = {
            file.id: seen
            for file in wanted
            if (seen := old.get(file.id)) and self._is_current(file, seen)
        }
        keys = {file_id: readers[file_id].make_key(seen.content) for file_id, seen in times.items()}
        outcomes = self._get_outcomes(list(keys.values()))
        known = {file_id: outcomes[each] for file_id, each in keys.items() if each in outcomes}
        new = [file for file in wanted if file.id not in known]
        try:
            for file in track(new, "Reading documents", len(new)) if new else ():
                try:
                    times[file.id], known[file.id] = self._read_file(file, readers[file.id])
                except Unreadable as error:
                    unread.append(UnreadFile(file.id, error.reason))
        finally:  # what was read until an interruption is kept
            if times != old:
                save_times(self._store, key, times)
        files = []
        for file in wanted:
            if outcome := known.get(file.id):
                if outcome.parts:
                    files.append(
                        ReadFile(file, readers[file.id], times[file.id].content, outcome.parts)
                    )
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
        return times, self._get_outcomes([key]).get(key) or self._parse(
            content, reader, key, file.id
        )

    def _read_again(self, read: ReadFile) -> None:
        """Read a file again, if it has not changed."""
        with suppress(Unreadable):
            content, _ = read_bytes(read.file.path, self._limit)
            if _hash(content) == read.content:
                self._parse(content, read.reader, read.key, read.file.id)

    def _get_outcomes(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Return key -> outcome, of the keys under which a file was read."""
        batches = (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))
        rows = (row for batch in batches for row in self._store.get(batch).items())
        return {key: Outcome(*json.loads(row)) for key, row in rows}

    def _parse(self, content: bytes, reader: Reader, key: str, file_id: str) -> Outcome:
        """Let the reader read, and keep what it gives; whatever it raises, other files are read."""
        rows: dict[str, bytes] = {}
        outcome = Outcome([], "")
        try:
            for document in reader.read(content):
                if document.text.strip():
                    outcome.parts.append(document.id)
                    rows[_make_part_key(key, document.id)] = _dump(_list_fields(document))
        except Unreadable as error:
            outcome = outcome._replace(reason=error.reason)
        except ConvragError:  # something is missing on this machine
            raise
        except MemoryError as error:  # another time, there may be enough
            raise Unreadable("there is not enough memory to read it") from error
        except Exception as error:
            log.debug("%s cannot be read", file_id, exc_info=error)
            reason = f"this is no {reader.format}, or damaged: {type(error).__name__}: {error}"
            outcome = outcome._replace(reason=shorten_reason(reason))
        if not any(outcome):
            outcome = outcome._replace(reason="there is no text in it")
        self._store.put(
            "documents.read", {**rows, key: _dump(outcome)}
        )  # last: its documents are there then
        return outcome


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()


def _dump(row: Sequence[object]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


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
    return {
        file_id: FileTimes(*row)
        for file_id, row in json.loads(store.get([key]).get(key, b"{}")).items()
    }


def save_times(store: Store, key: str, entries: Mapping[str, FileTimes]) -> None:
    """Keep the entries of a folder's files, in place of those that were kept."""
    store.put("documents.times", {key: json.dumps(entries).encode("utf-8", "surrogatepass")})


def _describe(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


_HALF_PAIR = re.compile("[\ud800-\udfff]")


class Outcome(NamedTuple):
    """What a reader made of a file: the parts that it consists of, and what of it could not be read, and why.

    A file is one part, with an empty name; of a JSONL file, each line is one, named by its number.
    """

    parts: list[str]
    reason: str


def _make_part_key(key: str, part: str) -> str:
    return digest([key, part])


def _list_fields(document: Document) -> list[object]:
    """List what a reader knows of a document. Half surrogate pairs, which are no characters, are
    replaced.
    """
    text, title, url = (
        _HALF_PAIR.sub("\ufffd", each) for each in (document.text, document.title, document.url)
    )
    headings = [
        [each.start, each.level, _HALF_PAIR.sub("\ufffd", each.text)] for each in document.headings
    ]
    return [text, title, url, headings, document.pages, document.page_name]


def _make_document(document_id: str, fields: Sequence[Any]) -> Document:
    text, title, url, headings, pages, page_name = fields
    return Document(
        document_id,
        text,
        title,
        url,
        tuple(Heading(*each) for each in headings),
        tuple(pages),
        page_name,
    )
