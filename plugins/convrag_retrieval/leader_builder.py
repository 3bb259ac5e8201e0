"""Puts the rows of an index into the lists of their leaders, taking over what an earlier build found."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag import Store
from convrag.sdk.files import open_atomically
from convrag.sdk.progress import count_parts
from convrag_retrieval.known_texts import TEXTS, TextPositions, load_texts, reading_earlier
from convrag_retrieval.leader_lists import LeaderLists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from convrag_retrieval.stored_rows import StoredRows

SHARDS = "lists"
"""The folder of the store with the shards of builds that were interrupted."""

_LEADERS, _LISTS = "leaders.npy", "lists.npy"
_SHARE = 4
"""Leaders for each square root of the number of rows."""
_SHARD = 1 << 16
_BLOCK = 1 << 12
_NONE = -1


class LeaderBuilder:
    """Builds the lists of one index.

    Leaders are the rows of the texts with the smallest hashes: a random sample, and nearly the same one after some
    passages have changed. So a row keeps its leader, unless that is gone or a new one is nearer.

    Args:
        rows: unit vectors.
        hashes: (n,) those of their texts.
        domain: shown with the progress.
        store: has the earlier lists.
        family: the first part of the names of all indexes with lists of the same embedder's rows.
        series: of the index (see `Store.folder`), or empty.
        key: of the index.
    """

    def __init__(
        self,
        rows: StoredRows,
        hashes: NDArray[np.bytes_],
        domain: str,
        store: Store,
        family: str,
        series: str,
        key: str,
    ) -> None:
        self._rows = rows
        self._hashes = hashes
        self._domain = domain
        self._store = store
        self._family = family
        self._newest = store.folders.find_newest("indexes", series) if series else None
        self._shards = store.path / SHARDS / key

    def build(self, folder: Path) -> None:
        """Save the lists into an empty folder. Shards that are complete are kept if it is interrupted."""
        distinct, firsts = np.unique(self._hashes, return_index=True)
        count = max(1, min(len(distinct), round(_SHARE * len(self._hashes) ** 0.5)))
        self._names, self._leaders = distinct[:count], self._rows.read(firsts[:count])
        known = self._take_over()
        lists = np.empty(len(self._hashes), dtype=np.int32)
        with count_parts(f"Finding neighbours of {self._domain}", total=len(lists)) as advance:
            for start in range(0, len(lists), _SHARD):
                shard = slice(start, min(start + _SHARD, len(lists)))
                lists[shard] = self._find_shard(shard, *known)
                advance(shard.stop - start)
        LeaderLists.save(folder, self._leaders, self._rows, lists)
        np.save(folder / _LEADERS, self._names)
        np.save(folder / _LISTS, lists)
        np.save(folder / TEXTS, self._hashes)

    def clean_up(self) -> None:
        """Remove the shards, once the folder is complete."""
        shutil.rmtree(self._shards, ignore_errors=True)

    def _take_over(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return (n,) the leader that an earlier build found, -1 for none, and the leaders which that did not have."""
        lists = np.full(len(self._hashes), _NONE, dtype=np.int32)
        fresh = np.arange(len(self._names))
        if self._family:
            with reading_earlier(self._store, "indexes", self._family, self._newest) as folders:
                if folder := next(folders, None):
                    names, found = np.load(folder / _LEADERS), np.load(folder / _LISTS)
                    places, positions = TextPositions(self._hashes.tolist()).match(load_texts(folder))
                    leaders = np.minimum(np.searchsorted(self._names, names), len(self._names) - 1)
                    leaders = np.where(self._names[leaders] == names, leaders, _NONE)  # of the earlier leaders
                    lists[positions] = leaders[found[places]]
                    fresh = np.setdiff1d(fresh, leaders)
        return lists, fresh

    def _find_shard(self, shard: slice, known: NDArray[np.int32], fresh: NDArray[np.int64]) -> NDArray[np.int32]:
        """Find the leaders of the rows of a shard, or read them from where a build left them that was interrupted."""
        path = self._shards / f"{shard.start}.npy"
        with suppress(OSError, ValueError):
            found: NDArray[np.int32] = np.load(path)
            if found.shape == (shard.stop - shard.start,):
                return found
        blocks = [slice(start, min(start + _BLOCK, shard.stop)) for start in range(shard.start, shard.stop, _BLOCK)]
        found = np.concatenate([self._find_leaders(self._rows.read(at), known[at], fresh) for at in blocks])
        self._shards.mkdir(parents=True, exist_ok=True)
        with open_atomically(path, "wb") as file:
            np.save(file, found)
        return found

    def _find_leaders(
        self, rows: NDArray[np.float32], known: NDArray[np.int32], fresh: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Find the nearest leader of each row; rows whose leader is known are compared with the fresh ones alone."""
        lists = known.copy()
        new, kept = np.flatnonzero(known == _NONE), np.flatnonzero(known != _NONE)
        if len(new):
            lists[new] = (rows[new] @ self._leaders.T).argmax(axis=1)
        if len(kept) and len(fresh):
            scores = rows[kept] @ self._leaders[fresh].T
            own = (rows[kept] * self._leaders[known[kept]]).sum(axis=1)
            nearer = scores.max(axis=1) > own
            lists[kept[nearer]] = fresh[scores.argmax(axis=1)[nearer]]
        return lists
