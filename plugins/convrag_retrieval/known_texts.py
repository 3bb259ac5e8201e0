"""Where texts stand in a corpus, by their hashes: what earlier indexes have of them need not be computed again."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convrag import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS = "texts.npy"
"""The hash of each passage's text, by position: a file of every index."""
_HASH = "S16"


class TextPositions:
    """The positions of texts in a corpus, by their hashes (see `Corpus.hash_texts`). Equal texts have several.

    Args:
        hashes: (n,) the hash of each text.
    """

    def __init__(self, hashes: list[bytes]) -> None:
        self.hashes: NDArray[np.bytes_] = np.array(hashes, dtype=_HASH)
        self._order = np.argsort(self.hashes, kind="stable")
        self._sorted = self.hashes[self._order]

    def match(self, hashes: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the texts of another list: (pairs,) places in that list, and (pairs,) positions here."""
        starts = np.searchsorted(self._sorted, hashes, side="left")
        counts = np.searchsorted(self._sorted, hashes, side="right") - starts
        places = np.repeat(np.arange(len(hashes)), counts)
        offsets = np.arange(len(places)) - np.repeat(counts.cumsum() - counts, counts)
        return places, self._order[np.repeat(starts, counts) + offsets]

    def count_absent(self, hashes: NDArray[np.bytes_]) -> int:
        """Count the texts of another list that are not in this corpus."""
        return int((~np.isin(hashes, self._sorted)).sum())


@dataclass
class BuildCounts:
    """What a build did: the passages whose texts it knew from earlier builds, new ones, and those that are gone."""

    kept: int = 0
    new: int = 0
    removed: int = 0

    def describe(self, domain: str, done: str) -> str:
        """Describe the build in a sentence: "cloud: 10,000 passages: 9,990 kept, 8 embedded, 2 removed".

        Args:
            domain: of the corpus.
            done: what was done with new passages ("embedded").
        """
        parts = [f"{self.kept:,} kept"] if self.kept else []
        parts += [f"{self.new:,} {done}"] if self.new or not self.kept else []
        parts += [f"{self.removed:,} removed"] if self.removed else []
        total = self.kept + self.new
        return f"{domain}: {total:,} passage{'' if total == 1 else 's'}: {', '.join(parts)}"


def find_earlier(store: Store, family: str, newest: Path | None) -> Generator[Path, None, None]:
    """Yield the sound indexes whose names begin with a family, each held until the next is taken; to be closed.

    The newest of the series comes first, since it has the most in common with the new one.
    """
    folders = [path for path in sorted((store.path / "indexes").glob(f"{family}-*")) if not path.suffix]
    for folder in sorted(folders, key=lambda path: path != newest):
        with store.folders.reading(folder) as is_sound:
            if is_sound:
                yield folder


def load_texts(folder: Path) -> NDArray[np.bytes_]:
    """Load the hashes of the texts of an index."""
    hashes: NDArray[np.bytes_] = np.load(folder / TEXTS)
    return hashes
