"""The passages of a domain on disk, by position and by id: what every index needs beside its numbers."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from convrag.api.errors import ConfigError, UnknownName
from convrag.api.stages import Dataset
from convrag.api.types import Passage
from convrag.sdk.progress import track
from convrag.store.store import BATCH, Store


class Corpus:
    """Random access to the passages of one domain; they are copied to disk once per content, and never all in memory.

    Raises:
        UnknownName: the data set has no such domain.
        ConfigError: the domain has no passages.
        DataError: its file is broken.
    """

    def __init__(self, dataset: Dataset, domain: str, store: Store) -> None:
        if domain not in dataset.domains():
            raise UnknownName("domain", domain, dataset.domains())
        self.domain = domain
        self.fingerprint = dataset.corpus_fingerprint(domain)
        folder = store.folder("corpora", self.fingerprint, lambda path: _copy(dataset, domain, path))
        self._connection = sqlite3.connect(
            f"file:{folder / 'passages.sqlite'}?mode=ro", uri=True, check_same_thread=False
        )
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM passages")[0][0])

    def __iter__(self) -> Iterator[Passage]:
        """Stream all passages by position."""
        start = 0
        while batch := self.at(range(start, start + BATCH)):
            yield from batch
            start += len(batch)

    def at(self, positions: Sequence[int]) -> list[Passage]:
        """The passages at these positions (from 0), in the order asked for; positions beyond the end are left out."""
        return self._find("position", [int(position) for position in positions])

    def by_id(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in the order asked for; unknown ids are left out."""
        return self._find("id", list(ids))

    def _find(self, column: str, keys: Sequence[int] | Sequence[str]) -> list[Passage]:
        found: dict[int | str, Passage] = {}
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            marks = ",".join("?" * len(batch))
            rows = self._select(f"SELECT {column}, passage FROM passages WHERE {column} IN ({marks})", batch)
            found.update((key, Passage(**json.loads(passage))) for key, passage in rows)
        return [found[key] for key in keys if key in found]

    def _select(self, sql: str, values: Iterable[object] = ()) -> list[tuple[str, str]]:
        with self._lock:
            return self._connection.execute(sql, tuple(values)).fetchall()


def _copy(dataset: Dataset, domain: str, folder: Path) -> None:
    connection = sqlite3.connect(folder / "passages.sqlite")
    try:
        connection.execute("CREATE TABLE passages (position INTEGER PRIMARY KEY, id TEXT UNIQUE, passage TEXT)")
        passages = track(dataset.corpus(domain), f"Reading passages of {domain}")
        count = connection.executemany(
            "INSERT INTO passages VALUES (?, ?, ?)",
            ((position, passage.id, _dump(passage)) for position, passage in enumerate(passages)),
        ).rowcount
        connection.commit()
    finally:
        connection.close()
    if count < 1:
        raise ConfigError(f"the corpus of {domain!r} has no passages: nothing could be found in it")


def _dump(passage: Passage) -> str:
    fields = {"id": passage.id, "text": passage.text, "title": passage.title, "url": passage.url}
    return json.dumps(fields | {"metadata": dict(passage.metadata)}, ensure_ascii=False)
