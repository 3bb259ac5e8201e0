"""The documents of a folder: new and changed files are read, the store has the others."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

from convrag import ConvragError, DataError, Document, Store
from convrag.sdk.output.progress import track
from convrag.sdk.storage import BATCH
from convrag.sdk.text.unreadable import Unreadable, shorten_reason
from convrag_documents.file_times import (
    FileTimes,
    Status,
    describe_status,
    load_times,
    save_times,
)
from convrag_documents.find_files import FoundFile, FoundFiles
from convrag_documents.includes import Includes
from convrag_documents.readers import Reader, find_reader
from convrag_documents.stored_documents import (
    Outcome,
    dump_document,
    dump_row,
    make_part_key,
    parse_document,
)
from convrag_documents.unreadable import (
    UnreadFile,
    begins_with_text,
    name_kind,
    read_bytes,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file whose documents are in the store.

    Args:
        file: the file.
        reader: its reader.
        content: a hash of its contents.
        parts: the names of its parts (see Outcome).
        modified: the time of its last change, in nanoseconds since 1970.
    """

    file: FoundFile
    reader: Reader
    content: str
    parts: list[str]
    modified: int = 0

    @property
    def key(self) -> str:
        """The key of its documents in the store."""
        return self.reader.make_key(self.content)

    def list_documents(self) -> Iterator[tuple[str, str]]:
        """Yield (part, id of the document): line 3 of the file faq.jsonl is "faq.jsonl:3"."""
        for part in self.parts:
            yield part, f"{self.file.id}:{part}" if part else self.file.id


@dataclass(frozen=True)
class Catalog:
    """The files of a folder.

    Args:
        files: that were read, by id.
        unread: files that were not read, or not whole.
    """

    files: tuple[ReadFile, ...]
    unread: tuple[UnreadFile, ...]

    def list_ids(self) -> list[str]:
        """Return the ids of the files that were read."""
        return [read.file.id for read in self.files]


class CatalogReader:
    """Reads the files of a folder into the store.

    Args:
        store: keeps the documents.
        limit: bytes; larger files are not read.
        docling: whether docling reads the formats that it can read.
    """

    def __init__(self, store: Store, limit: int, *, docling: bool = False) -> None:
        self._store = store
        self._limit = limit
        self._docling = docling
        self._includable: Set[str] = frozenset()

    def read(self, found: FoundFiles, key: str) -> Catalog:
        """Read the new and the changed files.

        Args:
            found: the files of the folder.
            key: of the folder, under which the store keeps the times of its files.
        """
        self._includable = found.includable
        unread = list(found.unread)
        readers: dict[str, Reader] = {}
        other_kinds = []
        for file in found.files:
            reader = find_reader(file, docling=self._docling)
            if reader is not None:
                readers[file.id] = reader
            else:
                other_kinds.append(file)
        unread += _describe_other_kinds(other_kinds)
        wanted = [file for file in found.files if file.id in readers]
        # A second process waits, and then finds everything read
        with self._store.lock([f"documents/{key}"]):
            files, not_read = self._read_wanted(wanted, readers, key)
        unread += not_read
        for each in unread:
            log.info("not read: %s (%s)", each.id, each.reason)
        return Catalog(tuple(files), tuple(sorted(unread)))

    def load(self, read: ReadFile, part: str, document_id: str) -> Document:
        """Load a document of a file.

        Raises:
            DataError: the store has lost it, and the file has changed.
        """
        key = make_part_key(read.key, part)
        row = self._store.get([key]).get(key)
        if not row:  # the store has lost it
            self._read_again(read)
            row = self._store.get([key]).get(key)
        if not row:
            raise DataError(
                "this file has changed since it was read: start again", path=read.file.path
            )
        return parse_document(document_id, row)

    def _read_wanted(
        self, wanted: Sequence[FoundFile], readers: Mapping[str, Reader], key: str
    ) -> tuple[list[ReadFile], list[UnreadFile]]:
        """Read files, or find them in the store."""
        old_times = load_times(self._store, key)
        times = self._find_current(wanted, old_times)
        outcomes = self._find_outcomes(times, readers)
        new = [file for file in wanted if file.id not in outcomes]
        unread = []
        try:
            for file in track(new, "Reading documents", len(new)) if new else ():
                try:
                    times[file.id], outcomes[file.id] = self._read_file(file, readers[file.id])
                except Unreadable as error:
                    unread.append(UnreadFile(file.id, error.reason))
        finally:  # an interruption keeps the files that were read before it
            if times != old_times:
                save_times(self._store, key, times)
        files = []
        for file in wanted:
            outcome = outcomes.get(file.id, Outcome([], ""))
            if outcome.parts:
                found = times[file.id]
                files.append(
                    ReadFile(file, readers[file.id], found.content, outcome.parts, found.modified)
                )
            if outcome.reason:
                unread.append(UnreadFile(file.id, outcome.reason))
        return files, unread

    def _find_current(
        self, wanted: Sequence[FoundFile], old_times: Mapping[str, FileTimes]
    ) -> dict[str, FileTimes]:
        """Find the entries of the files that have not changed since they were read."""
        current = {}
        for file in wanted:
            entry = old_times.get(file.id)
            if entry is not None and self._is_current(file, entry):
                current[file.id] = entry
        return current

    def _is_current(self, file: FoundFile, entry: FileTimes) -> bool:
        """Whether a file is as it was read, and within the limit of size, which may be new."""
        try:
            status = os.stat(file.path, follow_symlinks=False)  # noqa: PTH116
        except OSError:
            return False
        is_current = status.st_size <= self._limit and entry.is_current(status)
        return is_current and entry.are_included_current(self._includable)

    def _find_outcomes(
        self, times: Mapping[str, FileTimes], readers: Mapping[str, Reader]
    ) -> dict[str, Outcome]:
        """Find the outcomes of reading files in the store, by id."""
        keys = {
            file_id: readers[file_id].make_key(entry.content) for file_id, entry in times.items()
        }
        by_key = self._get_outcomes(list(keys.values()))
        return {file_id: by_key[key] for file_id, key in keys.items() if key in by_key}

    def _get_outcomes(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Return key -> outcome, for the keys under which a file was read."""
        outcomes = {}
        for start in range(0, len(keys), BATCH):
            rows = self._store.get(keys[start : start + BATCH])
            for key, row in rows.items():
                outcomes[key] = Outcome(*json.loads(row))
        return outcomes

    def _read_file(self, file: FoundFile, reader: Reader) -> tuple[FileTimes, Outcome]:
        """Read a file, unless the store has the documents of a file with the same contents."""
        content, status = read_bytes(file.path, self._limit)
        content, included = self._include(content, file, reader)
        read_at = time.time_ns()
        times = FileTimes(*describe_status(status), read_at, _hash(content), included)
        key = reader.make_key(times.content)
        outcome = self._get_outcomes([key]).get(key)
        if outcome is None:
            outcome = self._parse(content, reader, key, file.id)
        return times, outcome

    def _include(
        self, content: bytes, file: FoundFile, reader: Reader
    ) -> tuple[bytes, Mapping[str, Status | None]]:
        """Put the files that a file includes in place; return their statuses, too."""
        if not reader.has_includes:
            return content, {}
        includes = Includes(file.path, self._includable, self._limit)
        return includes.expand(content), includes.statuses

    def _read_again(self, read: ReadFile) -> None:
        """Read a file again, if it has not changed."""
        with suppress(Unreadable):
            content, _ = read_bytes(read.file.path, self._limit)
            content, _ = self._include(content, read.file, read.reader)
            if _hash(content) == read.content:
                self._parse(content, read.reader, read.key, read.file.id)

    def _parse(self, content: bytes, reader: Reader, key: str, file_id: str) -> Outcome:
        """Store the documents that the reader yields.

        Whatever a library raises for a damaged file becomes the reason of the outcome, so that
        other files are read.
        """
        rows: dict[str, bytes] = {}
        parts: list[str] = []
        reason = ""
        try:
            for document in reader.read(content):
                if document.text.strip():
                    parts.append(document.id)
                    rows[make_part_key(key, document.id)] = dump_document(document)
        except Unreadable as error:
            reason = error.reason
        except ConvragError:  # something is missing on this machine
            raise
        except MemoryError as error:  # another time, there may be enough
            raise Unreadable("there is not enough memory to read it") from error
        except Exception as error:
            log.debug("%s cannot be read", file_id, exc_info=error)
            reason = shorten_reason(
                f"this is no {reader.format}, or damaged: {type(error).__name__}: {error}"
            )
        if not parts and not reason:
            reason = "there is no text in it"
        outcome = Outcome(parts, reason)
        rows[key] = dump_row(outcome)  # last, when its documents are there
        self._store.put("documents.read", rows)
        return outcome


def _describe_other_kinds(files: Sequence[FoundFile]) -> Iterator[UnreadFile]:
    """Describe files without a reader. The first file of a kind tells whether the kind is text."""
    text_kinds: dict[str, bool] = {}
    for file in files:
        kind = name_kind(file.id)
        if kind not in text_kinds:
            text_kinds[kind] = begins_with_text(file.path)
        reason = "there is no reader for files of this kind"
        yield UnreadFile(file.id, reason, other_kind=True, is_text=text_kinds[kind])


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()
