"""Builds of the vectors of a domain's passages: vectors of earlier builds are reused.

What earlier and interrupted builds have is known by the hashes of the texts.
"""

import shutil
import threading
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import InitVar, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convrag import ConvragError, Embedder, Store
from convrag.sdk.files import open_atomically
from convrag.sdk.output.progress import count_parts
from convrag.sdk.search.corpus import Corpus
from convrag_retrieval.corpora import BuildCounts
from convrag_retrieval.vectors import Quantize, StoredRows

SHARDS = "embedded"
"""The folder of the store with the rows of builds that were interrupted."""

_BLOCK = 1 << 12
"""Rows that are taken over at once."""


@dataclass(eq=False)
class VectorBuilder:
    """Builds the vectors of one corpus.

    Args:
        corpus: the passages.
        embedder: makes the vectors of titles and texts.
        quantize: how the vectors are kept.
        batch_size: passages that are given to the embedder at once.
        store: has the earlier indexes.
        families: the first parts of the names of all indexes with vectors of this embedder,
            quantised alike or not. The first names the embedder of the shards. Empty: there are no
            others.
        series: of the index (see `Store.folder`), or empty.
        shards: the name of what keeps the rows of an interrupted build.
    """

    corpus: Corpus
    embedder: Embedder
    quantize: Quantize
    batch_size: int
    store: Store
    families: Sequence[str]
    series: str
    shards: InitVar[str]
    counts: BuildCounts = field(default_factory=BuildCounts)
    """The numbers of passages that `build` reused, embedded and removed."""

    def __post_init__(self, shards: str) -> None:
        self._keeping = threading.Lock()
        self._shards = Shards(self.store.path / SHARDS / f"{[*self.families, 'none'][0]}-{shards}")
        self._newest = (
            self.store.folders.find_newest("indexes", self.series) if self.series else None
        )

    def build(self, folder: Path) -> None:
        """Write the vectors, row by position, into an empty folder.

        When it is interrupted, what was embedded is kept.
        """
        self._texts = TextPositions(self.corpus.hash_texts())
        self._rows: StoredRows | None = None
        self._folder = folder
        missing = np.ones(len(self._texts.hashes), dtype=bool)
        with self.store.folders.lock(
            [self._shards.name]
        ):  # against a build of the same data set with other passages
            for hashes, rows in self._read_known():
                missing[self._fill(hashes, rows)] = False
                if not missing.any():
                    break
            self._embed(np.flatnonzero(missing))
        assert self._rows is not None  # a corpus has at least one passage
        self._rows.save(folder)
        np.save(folder / TEXTS, self._texts.hashes)
        new = int(missing.sum())
        self.counts = BuildCounts(kept=len(missing) - new, new=new, removed=self._count_removed())

    def clean_up(self) -> None:
        """Remove the shards of a build, once the folder is complete."""
        if self.counts != BuildCounts():
            with self.store.folders.lock([self._shards.name]):
                self._shards.remove()

    def _read_known(self) -> Iterator[tuple[NDArray[np.bytes_], NDArray[np.float32]]]:
        """Yield the vectors of earlier builds with this embedder, and the hashes of their texts."""
        for family in self.families:
            with closing(find_earlier(self.store, family, self._newest)) as folders:
                for folder in folders:
                    hashes, rows = load_texts(folder), StoredRows.open(folder)
                    for start in range(0, len(hashes), _BLOCK):
                        block = slice(start, start + _BLOCK)
                        yield hashes[block], rows.read(block)
        for family in self.families[:1]:
            for folder in sorted(
                (self.store.path / SHARDS).glob(f"{family}-*")
            ):  # of other data sets as well
                yield from ((shard["hashes"], shard["rows"]) for shard in Shards(folder).read())

    def _embed(self, positions: NDArray[np.int64]) -> None:
        """Embed the passages at positions, each text once."""
        _, firsts = np.unique(self._texts.hashes[positions], return_index=True)
        distinct = positions[np.sort(firsts)].tolist()
        if not distinct:
            return
        with count_parts(f"Embedding {self.corpus.domain}", total=len(distinct)) as advance:
            for start in range(0, len(distinct), self.batch_size):
                batch = distinct[start : start + self.batch_size]
                texts = [passage.content for passage in self.corpus.get_by_position(batch)]
                self.embedder.embed_in_parts(texts, partial(self._keep, batch, advance))

    def _keep(
        self,
        batch: Sequence[int],
        advance: Callable[[int], None],
        places: Sequence[int],
        rows: NDArray[np.float32],
    ) -> None:
        """Keep the rows of some passages of a batch, in case the build is interrupted.

        Args:
            batch: the positions of passages.
            advance: is told how many were done.
            places: of the passages in the batch.
            rows: their vectors.
        """
        positions = [batch[place] for place in places]
        hashes = self._texts.hashes[positions]
        with self._keeping:
            if self.families:
                self._shards.add(hashes[0].hex(), hashes=hashes, rows=rows)
            self._fill(hashes, rows)
            advance(len(positions))

    def _fill(self, hashes: NDArray[np.bytes_], rows: NDArray[np.float32]) -> NDArray[np.int64]:
        """Write known vectors to all positions that have their texts, and return these."""
        places, positions = self._texts.match(hashes)
        if len(positions):
            if self._rows is None:
                shape = (len(self._texts.hashes), rows.shape[1])
                self._rows = StoredRows.create(self._folder, shape, self.quantize)
            self._check_width(rows)
            self._rows.write(positions, rows[places])
        return positions

    def _check_width(self, rows: NDArray[np.float32]) -> None:
        """Raise ConvragError unless new rows are as long as those that are there."""
        assert self._rows is not None
        width, earlier = rows.shape[1], self._rows.stored.shape[1]
        if width != earlier:
            raise ConvragError(
                f"the vectors of {self.corpus.domain} have {earlier} numbers, and the embedder now "
                f"gives {width}: another model has taken its place. Name the new one as it is "
                "called (embedder.model), so that an index of its own is built"
            )

    def _count_removed(self) -> int:
        """Count the passages of the index before this one whose texts are gone."""
        if self._newest is None:
            return 0
        with self.store.folders.reading(self._newest) as is_sound:
            return self._texts.count_absent(load_texts(self._newest)) if is_sound else 0


TEXTS = "texts.npy"
"""The hash of each passage's text, by position: a file of every index."""
_HASH = "S16"


class TextPositions:
    """The positions of texts in a corpus by their hashes (see `Corpus.hash_texts`).

    Equal texts have several positions.

    Args:
        hashes: (n,) the hash of each text.
    """

    def __init__(self, hashes: list[bytes]) -> None:
        self.hashes: NDArray[np.bytes_] = np.array(hashes, dtype=_HASH)
        self._order = np.argsort(self.hashes, kind="stable")
        self._sorted = self.hashes[self._order]

    def match(self, hashes: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find texts of another list: (pairs,) places in that list, and (pairs,) positions here."""
        starts = np.searchsorted(self._sorted, hashes, side="left")
        counts = np.searchsorted(self._sorted, hashes, side="right") - starts
        places = np.repeat(np.arange(len(hashes)), counts)
        offsets = np.arange(len(places)) - np.repeat(counts.cumsum() - counts, counts)
        return places, self._order[np.repeat(starts, counts) + offsets]

    def count_absent(self, hashes: NDArray[np.bytes_]) -> int:
        """Count the texts of another list that are not in this corpus."""
        return int((~np.isin(hashes, self._sorted)).sum())


def find_earlier(store: Store, family: str, newest: Path | None) -> Generator[Path, None, None]:
    """Yield the sound indexes whose names begin with a family, each held until the next is taken.

    The generator must be closed.

    The newest of the series comes first, since it has the most in common with the new one.
    """
    folders = [
        path for path in sorted((store.path / "indexes").glob(f"{family}-*")) if not path.suffix
    ]
    for folder in sorted(folders, key=lambda path: path != newest):
        with store.folders.reading(folder) as is_sound:
            if is_sound:
                yield folder


def load_texts(folder: Path) -> NDArray[np.bytes_]:
    """Load the hashes of the texts of an index."""
    hashes: NDArray[np.bytes_] = np.load(folder / TEXTS)
    return hashes


Shard = dict[str, NDArray[Any]]
"""Arrays by name."""


class Shards:
    """Files of arrays, with checksums. A file is there as a whole, or not at all.

    Args:
        folder: has them; made for the first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = str(folder)

    def read(self) -> Iterator[Shard]:
        """Yield the shards in the order of their names; damaged files are left out."""
        for path in sorted(self._folder.glob("*.npz")):
            if shard := _read(path):
                yield shard

    def add(self, name: str, **arrays: NDArray[Any]) -> None:
        """Write a shard."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with open_atomically(self._folder / f"{name}.npz", "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def remove(self) -> None:
        """Remove all shards, once the index is complete."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _read(path: Path) -> Shard:
    """Read a shard; nothing where its file is damaged."""
    try:
        with path.open("rb") as opened, np.load(opened) as file:
            return dict(file)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {}
