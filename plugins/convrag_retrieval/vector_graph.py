"""Approximate search of vectors: a graph (HNSW) of usearch, on disk and memory-mapped.

The graph finds candidates; their scores are computed from the vectors, as exact search does. Its
keys are hashes of texts, so that a graph of other passages serves as the beginning of a new one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from convrag import Store
from convrag.sdk.errors import MissingExtra
from convrag.sdk.identity import digest, hash_modules
from convrag.sdk.output.progress import count_parts
from convrag_retrieval.vector_builder import load_texts
from convrag_retrieval.vectors import StoredRows, Vectors

log = logging.getLogger(__name__)

UNFINISHED = "linked"
"""The folder of the store with the graphs of builds that were interrupted."""

_GRAPH = "graph.usearch"
_KEYS = "keys.npy"

_SAVED = 1 << 16
"""Vectors that are added between two copies of an unfinished graph: some minutes of work."""

_ADDED = 1 << 12
"""Vectors that are read and added at once."""

_REMOVED = 0.25
"""A graph with a larger share of vectors to remove is not reused: searches get worse."""


class GraphSettings(NamedTuple):
    """The settings of a graph.

    Args:
        m: links of a vector.
        ef_construction: candidates that are compared when a vector is added.
        ef_search: candidates that are compared in a search.
        threads: that build it; 0 takes all cores.
    """

    m: int
    ef_construction: int
    ef_search: int
    threads: int


def check_library() -> None:
    """Raise MissingExtra where usearch is not installed."""
    problem = find_missing_library()
    if problem:
        raise problem


def find_missing_library() -> MissingExtra | None:
    """Return the error that says how to install usearch; None where it is installed."""
    try:
        metadata.version("usearch")
    except metadata.PackageNotFoundError:
        return MissingExtra("usearch", "convrag[hnsw]", "retriever.vectors=hnsw")
    return None


class GraphVectors(Vectors):
    """Vectors whose candidates a graph finds, instead of all being compared.

    Args:
        folder: the vectors.
        graph: where `GraphBuilder` saved the graph.
        settings: of the graph.
    """

    def __init__(self, folder: Path, graph: Path, settings: GraphSettings) -> None:
        super().__init__(folder)
        self._effort = settings.ef_search
        self._index = _make_index(self.rows.stored.shape[1], settings)
        self._index.view(str(graph / _GRAPH))
        keys = hash_keys(load_texts(folder))
        self._order = np.argsort(keys, kind="stable")
        self._sorted_keys = keys[self._order]
        # usearch gives a search the memory of its thread number, which is 0 for all of ours.
        self._searching = threading.Lock()

    def _shortlist(self, vector: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Select the positions of the texts that the graph finds near the vector."""
        count = min(k, len(self._index))
        with self._searching:
            self._index.expansion_search = max(self._effort, 2 * count)
            found = np.unique(self._index.search(vector, count, threads=1).keys)
        starts = np.searchsorted(self._sorted_keys, found, side="left")
        ends = np.searchsorted(self._sorted_keys, found, side="right")
        ranges = [self._order[start:end] for start, end in zip(starts, ends, strict=True)]
        return np.concatenate(ranges)


@dataclass(eq=False)
class GraphBuilder:
    """Builds the graph of the vectors of one corpus.

    A build that was interrupted goes on where its last copy was saved, and a graph of the same
    series, whose passages have changed since, is continued.

    Args:
        domain: of the corpus, for the progress.
        vectors: the folder of the vectors.
        store: has the graphs.
        settings: of the graph.
        name: identifies the vectors.
        series: of the graph (see `Store.folder`), or empty.
    """

    domain: str
    vectors: Path
    store: Store
    settings: GraphSettings
    name: str
    series: str

    def open(self) -> GraphVectors:
        """Open the vectors with their graph; build it where it is not there."""
        check_library()
        code = hash_modules(__name__)
        shape = [self.settings.m, self.settings.ef_construction, metadata.version("usearch")]
        key = digest(["graph", self.name, code, shape])
        self._unfinished = self.store.path / UNFINISHED / f"{key}.usearch"
        folder = self.store.folder("indexes", key, self._build, series=self.series)
        self._unfinished.unlink(missing_ok=True)
        return GraphVectors(self.vectors, folder, self.settings)

    def _build(self, folder: Path) -> None:
        """Write the graph into an empty folder."""
        rows = StoredRows.open(self.vectors)
        keys, positions = np.unique(hash_keys(load_texts(self.vectors)), return_index=True)
        index = self._restore_unfinished(rows) or self._restore_earlier(rows, keys)
        if index is None:
            index = _make_index(rows.stored.shape[1], self.settings)
        is_missing = ~np.asarray(index.contains(keys), dtype=bool)
        # In the order of the corpus, which does not depend on hashes.
        order = np.argsort(positions[is_missing], kind="stable")
        self._add(index, keys[is_missing][order], positions[is_missing][order], rows)
        index.save(str(folder / _GRAPH))
        np.save(folder / _KEYS, keys)

    def _add(
        self,
        index: Any,
        keys: NDArray[np.uint64],
        positions: NDArray[np.int64],
        rows: StoredRows,
    ) -> None:
        """Add vectors; save a copy of the graph now and then."""
        since_copy = 0
        with count_parts(f"Linking {self.domain}", total=len(keys)) as advance:
            for part in _split(len(keys)):
                vectors = rows.read(positions[part])
                index.add(keys[part], vectors, copy=True, threads=self.settings.threads)
                advance(len(vectors))
                since_copy += len(vectors)
                if since_copy >= _SAVED and part.stop < len(keys):
                    self._save_unfinished(index)
                    since_copy = 0

    def _save_unfinished(self, index: Any) -> None:
        self._unfinished.parent.mkdir(parents=True, exist_ok=True)
        part = self._unfinished.with_suffix(".part")
        index.save(str(part))
        part.replace(self._unfinished)

    def _restore_unfinished(self, rows: StoredRows) -> Any:
        """Restore the graph of a build that was interrupted; None where there is none."""
        if not self._unfinished.is_file():
            return None
        index = _restore(self._unfinished, rows.stored.shape[1], self.settings)
        if index is not None:
            log.info("The graph of %s goes on at %s vectors", self.domain, f"{len(index):,}")
        return index

    def _restore_earlier(self, rows: StoredRows, keys: NDArray[np.uint64]) -> Any:
        """Restore the graph of the series with the passages that are still there; or None."""
        newest = self.store.folders.find_newest("indexes", self.series) if self.series else None
        if newest is None:
            return None
        with self.store.folders.reading(newest) as is_sound:
            if not is_sound:
                return None
            known = np.load(newest / _KEYS)
            gone = known[~np.isin(known, keys)]
            if len(gone) > _REMOVED * len(known):
                return None
            index = _restore(newest / _GRAPH, rows.stored.shape[1], self.settings)
        if index is not None and len(gone):
            index.remove(gone)
        return index


def hash_keys(texts: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """Return the keys of texts in a graph: the first 8 bytes of their hashes."""
    padded = np.ascontiguousarray(texts, dtype="S16")
    return padded.view(np.uint64).reshape(len(texts), 2)[:, 0].copy()


def _make_index(width: int, settings: GraphSettings) -> Any:
    """Make an empty graph. Its own vectors are float16: enough to find candidates by."""
    from usearch.index import Index

    return Index(
        ndim=width,
        metric="ip",
        dtype="f16",
        connectivity=settings.m,
        expansion_add=settings.ef_construction,
        expansion_search=settings.ef_search,
    )


def _restore(file: Path, width: int, settings: GraphSettings) -> Any:
    """Load a graph to add to it; None where the file is damaged, or of other vectors."""
    index = _make_index(width, settings)
    with suppress(Exception):  # usearch documents no exception of its own
        index.load(str(file))
        if index.ndim == width:
            return index
    return None


def _split(count: int) -> Iterator[slice]:
    """Split a count into parts that are read and added at once."""
    size = min(_SAVED, _ADDED)
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
