"""The copy of a corpus in a database. Parts that the copy before it has are taken from there, and not read again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from convrag.api.documents import CorpusPart
from convrag.api.errors import ConfigError, ConvragError
from convrag.api.stages import Dataset
from convrag.api.types import Passage
from convrag.sdk.progress import count_parts
from convrag.store.fingerprint import digest, hash_text
from convrag.store.marked_json import CannotBeKept, MarkedJson
from convrag.store.source import hash_modules

FILE = "passages.sqlite"
JSON = MarkedJson({})

_TABLES = (
    "CREATE TABLE passages (position INTEGER PRIMARY KEY, id TEXT UNIQUE, text_hash BLOB, passage BLOB)",
    "CREATE TABLE parts (key TEXT PRIMARY KEY, start INTEGER, count INTEGER)",
)


def copy_corpus(dataset: Dataset, domain: str, folder: Path, earlier: Path | None) -> None:
    """Copy the passages of a domain into a database in a folder.

    Args:
        dataset: has the passages.
        domain: which of its corpora.
        folder: empty.
        earlier: a sound copy of the same corpus before it changed, if there is one.

    Raises:
        ConfigError: the domain has no passages.
        ConvragError: a passage's metadata hold an object that cannot be kept.
    """
    with closing(sqlite3.connect((folder / FILE).as_uri(), uri=True)) as connection:
        for table in _TABLES:
            connection.execute(table)
        copy = _CorpusCopy(connection, domain)
        if earlier is not None:
            copy.attach(earlier)
        with count_parts(f"Reading passages of {domain}", total=None) as advance:
            for part in dataset.corpus_parts(domain):
                copy.add(part, advance)
        connection.commit()
    if not copy.count:
        why = dataset.explain_missing_corpus(domain)
        raise ConfigError(f"the corpus of {domain!r} has no passages: nothing could be found in it. {why}".rstrip(". "))


def make_read_only(file: Path) -> str:
    """Make the address under which SQLite opens a file that nobody writes to."""
    return f"{file.as_uri()}?mode=ro"


class _CorpusCopy:
    """A copy in progress; `count` are the passages so far."""

    def __init__(self, connection: sqlite3.Connection, domain: str) -> None:
        self.count = 0
        self._connection = connection
        self._domain = domain
        self._code = hash_modules(__name__)
        self._known: dict[str, tuple[int, int]] = {}

    def attach(self, earlier: Path) -> None:
        """Make the parts of another copy known."""
        self._connection.execute("ATTACH ? AS earlier", [make_read_only(earlier / FILE)])
        if self._connection.execute("SELECT 1 FROM earlier.sqlite_master WHERE name = 'parts'").fetchone():
            rows = self._connection.execute("SELECT key, start, count FROM earlier.parts")
            self._known = {key: (start, count) for key, start, count in rows}

    def add(self, part: CorpusPart, advance: Callable[[float], None]) -> None:
        """Add the passages of a part, from the other copy where it has them."""
        key = digest([self._code, part.key]) if part.key else ""  # another version of the code may write otherwise
        start = self.count
        if key and (known := self._known.get(key)):
            self._take_over(*known)
            advance(self.count - start)
        else:
            self._connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", self._number(part, advance))
        if key:
            row = (key, start, self.count - start)
            self._connection.execute("INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", row)

    def _take_over(self, start: int, count: int) -> None:
        self._connection.execute(
            "INSERT INTO passages SELECT position + ?, id, text_hash, passage FROM earlier.passages "
            "WHERE position >= ? AND position < ?",
            [self.count - start, start, start + count],
        )
        self.count += count

    def _number(self, part: CorpusPart, advance: Callable[[float], None]) -> Iterator[tuple[int, str, bytes, bytes]]:
        for passage in part.read():
            yield self.count, passage.id, hash_text(passage.content), _write_passage(passage, self._domain)
            self.count += 1
            advance(1)


def _write_passage(passage: Passage, domain: str) -> bytes:
    fields = {"id": passage.id, "text": passage.text, "title": passage.title, "url": passage.url}
    try:
        return JSON.write(fields | {"metadata": dict(passage.metadata)})
    except CannotBeKept as error:
        raise ConvragError(
            f"the passage {passage.id!r} of the domain {domain!r} holds {error.problem} at {error.place}, which cannot "
            "be kept: give plain data"
        ) from error
