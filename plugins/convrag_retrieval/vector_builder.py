"""Builds the vectors of a domain's passages: earlier builds give what they have, the rest is embedded in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag import Embedder, Store
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import count_parts
from convrag_retrieval.known_texts import TEXTS, BuildCounts, TextPositions, load_texts, reading_earlier
from convrag_retrieval.row_journal import RowJournal, Rows
from convrag_retrieval.stored_rows import Quantize, StoredRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

JOURNALS = "embedded"
"""The folder of the store with the rows of builds that were interrupted."""

_BLOCK = 1 << 12
"""Rows that are taken over at once."""


class VectorBuilder:
    """Builds the vectors of one corpus.

    Args:
        corpus: the passages.
        embedder: makes the vectors of titles and texts.
        quantize: how the vectors are kept.
        batch_size: passages that are given to the embedder at once.
        store: has the earlier indexes.
        families: the first parts of the names of all indexes with vectors of this embedder, quantised alike or not.
            The first names the embedder in the journal. Empty: there are no others.
        series: of the index (see `Store.folder`), or empty.
        journal: the name of the file that keeps the rows of an interrupted build.
    """

    def __init__(
        self,
        corpus: Corpus,
        embedder: Embedder,
        quantize: Quantize,
        batch_size: int,
        store: Store,
        families: Sequence[str],
        series: str,
        journal: str,
    ) -> None:
        self._corpus = corpus
        self._embedder = embedder
        self._batch_size = batch_size
        self._store = store
        self._families = families
        self._quantize = quantize
        self._journal = store.path / JOURNALS / f"{journal}.rows"
        self._newest = store.folders.find_newest("indexes", series) if series else None
        self.counts: BuildCounts | None = None
        """What `build` did; None before."""

    def build(self, folder: Path) -> None:
        """Write the vectors, row by position, into an empty folder. What was embedded is kept if it is interrupted."""
        self._texts = TextPositions(self._corpus.hash_texts())
        self._rows: StoredRows | None = None
        self._folder = folder
        missing = np.ones(len(self._texts.hashes), dtype=bool)
        with self._store.folders.lock([str(self._journal)]):  # against a build of the same data set with other passages
            journal = self._open_journal(self._journal)
            for known in self._read_known(journal):
                missing[self._fill(known)] = False
                if not missing.any():
                    break
            self._embed(np.flatnonzero(missing), journal)
        assert self._rows is not None  # a corpus has at least one passage
        self._rows.save(folder)
        np.save(folder / TEXTS, self._texts.hashes)
        new = int(missing.sum())
        self.counts = BuildCounts(kept=len(missing) - new, new=new, removed=self._count_removed())

    def clean_up(self) -> None:
        """Remove the journal, once the folder is complete."""
        with self._store.folders.lock([str(self._journal)]):
            self._journal.unlink(missing_ok=True)

    def _read_known(self, journal: RowJournal) -> Iterator[Rows]:
        """Yield the vectors that earlier builds of this embedder have, complete ones first."""
        for family in self._families:
            with reading_earlier(self._store, "indexes", family, self._newest) as folders:
                for folder in folders:
                    hashes, rows = load_texts(folder), StoredRows.open(folder)
                    for start in range(0, len(hashes), _BLOCK):
                        block = slice(start, start + _BLOCK)
                        yield Rows(hashes[block], rows.read(block))
        if self._families:
            yield from journal.read()
            for path in sorted(self._journal.parent.glob("*.rows")):
                if path != self._journal:
                    yield from self._open_journal(path).read()

    def _open_journal(self, path: Path) -> RowJournal:
        return RowJournal(path, self._families[0] if self._families else "")

    def _embed(self, positions: NDArray[np.int64], journal: RowJournal) -> None:
        """Embed the passages at positions, each text once."""
        _, firsts = np.unique(self._texts.hashes[positions], return_index=True)
        distinct = positions[np.sort(firsts)].tolist()
        if not distinct:
            return
        with count_parts(f"Embedding {self._corpus.domain}", total=len(distinct)) as advance:
            for start in range(0, len(distinct), self._batch_size):
                batch = distinct[start : start + self._batch_size]
                texts = [passage.content for passage in self._corpus.get_by_position(batch)]
                known = Rows(self._texts.hashes[batch], _embed_uncached(self._embedder, texts))
                if self._families:
                    journal.append(known)
                self._fill(known)
                advance(len(batch))

    def _fill(self, known: Rows) -> NDArray[np.int64]:
        """Write known vectors to all positions that have their texts, and return these."""
        places, positions = self._texts.match(known.hashes)
        if len(positions):
            if self._rows is None:
                shape = (len(self._texts.hashes), known.rows.shape[1])
                self._rows = StoredRows.create(self._folder, shape, self._quantize)
            self._rows.write(positions, known.rows[places])
        return positions

    def _count_removed(self) -> int:
        """Count the passages of the index before this one whose texts are gone."""
        if self._newest is None:
            return 0
        with self._store.folders.reading(self._newest) as is_sound:
            return self._texts.count_absent(load_texts(self._newest)) if is_sound else 0


def _embed_uncached(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed by the method of the class.

    The kernel wraps the method of the object with its cache, which would keep each passage's vector in the store a
    second time, row by row; the vectors of a corpus are kept in its index alone.
    """
    return type(embedder).embed(embedder, texts)
