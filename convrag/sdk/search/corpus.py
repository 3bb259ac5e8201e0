"""The passages of a domain on disk, which an index finds by position or id."""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from math import ceil
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from convrag.api.documents import CorpusPart
from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag.api.passages import Passage
from convrag.api.stages import Dataset
from convrag.sdk.output.progress import count_parts
from convrag.store.code_hash import hash_modules
from convrag.store.fingerprint import digest, hash_text
from convrag.store.json_text import CannotBeKept, MarkedJson
from convrag.store.store import BATCH, Store

__all__ = ["Corpus", "PassageSource", "has_passages", "open_passages", "serve_passages"]

_FOLDER = "corpora"
"""The folder of the copies in the store."""


class PassageSource(ABC):
    """The passages of one domain by id. Several threads may use it."""

    @abstractmethod
    def get_by_id(self, ids: Sequence[str]) -> list[Passage]:
        """Return the passages with these ids, in their order; unknown ids are left out."""

    def list_missing(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that no passage has, sorted."""
        wanted = sorted(set(ids))
        known = {passage.id for passage in self.get_by_id(wanted)}
        return [name for name in wanted if name not in known]


_served: WeakKeyDictionary[Dataset, dict[str, PassageSource]] = WeakKeyDictionary()
"""Data set -> domain -> the server that has its passages."""


def serve_passages(dataset: Dataset, domain: str, source: PassageSource) -> None:
    """Let passages of a domain be looked up in a server that has all of them.

    The corpus need not be read then.
    """
    _served.setdefault(dataset, {})[domain] = source


def open_passages(dataset: Dataset, domain: str, store: Store) -> PassageSource | None:
    """Open the passages of a domain: in a server that has them, else in a copy in the store.

    None where the domain has no passages, or is not the data set's. Raises DataError.
    """
    served = _served.get(dataset, {}).get(domain)
    if served is not None:
        return served
    if domain not in dataset.domains() or not has_passages(dataset, domain):
        return None
    return Corpus(dataset, domain, store)


def has_passages(dataset: Dataset, domain: str) -> bool:
    """Whether a domain has any passages. Raises DataError where its file is broken."""
    return next(iter(dataset.corpus(domain)), None) is not None


class Corpus(PassageSource):
    """The passages of one domain by position and by id, copied into the store once.

    Raises:
        UnknownName: the data set does not have this domain.
        ConfigError: the domain has no passages.
        DataError: the file of the corpus is not valid.
        ConvragError: a passage's metadata hold an object that cannot be kept.
    """

    def __init__(self, dataset: Dataset, domain: str, store: Store) -> None:
        if domain not in dataset.domains():
            raise UnknownName("domain", domain, dataset.domains())
        self.domain = domain
        self._store = store  # it holds the folder for as long as it lives
        self.fingerprint = dataset.corpus_fingerprint(domain)
        key = _make_key(self.fingerprint)
        series = digest([dataset.series, domain]) if dataset.series else ""

        def build(empty: Path) -> None:
            earlier = store.folders.find_newest(_FOLDER, series)
            with store.folders.reading(earlier) if earlier else nullcontext(False) as is_sound:
                copy_corpus(dataset, domain, empty, earlier if is_sound else None)

        folder = store.folder(_FOLDER, key, build, series=series)
        self._connection = sqlite3.connect(
            make_read_only(folder / FILE), uri=True, check_same_thread=False
        )
        self._lock = threading.Lock()

    @classmethod
    def open_copy(cls, dataset: Dataset, domain: str, store: Store) -> PassageSource | None:
        """Open the passages as `open_passages` does, but None where the store has no copy yet."""
        served = _served.get(dataset, {}).get(domain)
        if served is not None:
            return served
        key = _make_key(dataset.corpus_fingerprint(domain))
        has_copy = (store.path / _FOLDER / key).is_dir()
        return cls(dataset, domain, store) if has_copy else None

    def __len__(self) -> int:
        ((count,),) = self._select("SELECT count(*) FROM passages")
        return int(count)

    def __iter__(self) -> Iterator[Passage]:
        """Yield all passages in the order of their positions."""
        start = 0
        while batch := self.get_by_position(range(start, start + BATCH)):
            yield from batch
            start += len(batch)

    def get_by_position(self, positions: Sequence[int]) -> list[Passage]:
        """Return the passages at these positions (from 0), in their order.

        Positions beyond the end are left out.
        """
        return self._find("position", [int(position) for position in positions])

    def get_by_id(self, ids: Sequence[str]) -> list[Passage]:
        return self._find("id", list(ids))

    def get_around(self, passage_id: str, before: int, after: int) -> list[Passage]:
        """Return the passages before and after one, and itself, in their order.

        They may belong to other documents. None for an unknown id.
        """
        rows = self._select("SELECT position FROM passages WHERE id = ?", [passage_id])
        if not rows:
            return []
        ((position,),) = rows
        first = max(0, position - before)
        return self.get_by_position(range(first, position + after + 1))

    def sample(self, most: int = 200) -> Iterator[Passage]:
        """Yield at most `most` passages, at even distances."""
        distance = ceil(len(self) / most)
        positions = range(0, len(self), distance)
        for start in range(0, len(positions), BATCH):
            yield from self.get_by_position(positions[start : start + BATCH])

    def hash_texts(self) -> list[bytes]:
        """Return a hash of 16 bytes of each passage's `content`, by position."""
        rows = self._select("SELECT text_hash FROM passages ORDER BY position")
        return [text_hash for (text_hash,) in rows]

    def _find(self, column: str, keys: Sequence[int] | Sequence[str]) -> list[Passage]:
        """Find passages by the values of a column, in their order."""
        found: dict[int | str, Passage] = {}
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            sql = f"SELECT {column}, passage FROM passages WHERE {column} IN ({marks})"
            for key, passage in self._select(sql, batch):
                found[key] = Passage(**JSON.read(passage))
        return [found[key] for key in keys if key in found]

    def _select(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, tuple(values)).fetchall()


def _make_key(fingerprint: str) -> str:
    return digest([fingerprint, hash_modules(__name__)])


FILE = "passages.sqlite"
JSON = MarkedJson({})

_TABLES = (
    "CREATE TABLE passages "
    "(position INTEGER PRIMARY KEY, id TEXT UNIQUE, text_hash BLOB, passage BLOB)",
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
        message = f"the corpus of {domain!r} has no passages: nothing could be found in it. {why}"
        raise ConfigError(message.rstrip(". "))


def make_read_only(file: Path) -> str:
    """Make the address under which SQLite opens a file for reading alone."""
    return f"{file.as_uri()}?mode=ro"


class _CorpusCopy:
    """A copy in progress; `count` is the number of passages so far."""

    def __init__(self, connection: sqlite3.Connection, domain: str) -> None:
        self.count = 0
        self._connection = connection
        self._domain = domain
        self._code = hash_modules(__name__)
        self._known: dict[str, tuple[int, int]] = {}

    def attach(self, earlier: Path) -> None:
        """Make the parts of another copy known."""
        self._connection.execute("ATTACH ? AS earlier", [make_read_only(earlier / FILE)])
        has_parts = self._connection.execute(
            "SELECT 1 FROM earlier.sqlite_master WHERE name = 'parts'"
        ).fetchone()
        if has_parts:
            rows = self._connection.execute("SELECT key, start, count FROM earlier.parts")
            self._known = {key: (start, count) for key, start, count in rows}

    def add(self, part: CorpusPart, advance: Callable[[float], None]) -> None:
        """Add the passages of a part, from the other copy where it has them."""
        # Another version of the code may write passages in another way.
        key = digest([self._code, part.key]) if part.key else ""
        start = self.count
        known = self._known.get(key) if key else None
        if known is not None:
            self._take_over(*known)
            advance(self.count - start)
        else:
            rows = self._number(part, advance)
            self._connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?)", rows)
        if key:
            row = (key, start, self.count - start)
            self._connection.execute("INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", row)

    def _take_over(self, start: int, count: int) -> None:
        self._connection.execute(
            "INSERT INTO passages "
            "SELECT position + ?, id, text_hash, passage FROM earlier.passages "
            "WHERE position >= ? AND position < ?",
            [self.count - start, start, start + count],
        )
        self.count += count

    def _number(
        self, part: CorpusPart, advance: Callable[[float], None]
    ) -> Iterator[tuple[int, str, bytes, bytes]]:
        """Yield the rows of a part's passages, and count them."""
        for passage in part.read():
            text_hash = hash_text(passage.content)
            yield self.count, passage.id, text_hash, _write_passage(passage, self._domain)
            self.count += 1
            advance(1)


def _write_passage(passage: Passage, domain: str) -> bytes:
    fields = {"id": passage.id, "text": passage.text, "title": passage.title, "url": passage.url}
    try:
        return JSON.write(fields | {"metadata": dict(passage.metadata)})
    except CannotBeKept as error:
        raise ConvragError(
            f"the passage {passage.id!r} of the domain {domain!r} holds {error.problem} at "
            f"{error.place}, which cannot be kept: give plain data"
        ) from error
