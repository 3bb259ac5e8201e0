"""What earlier and interrupted builds have of texts, by their hashes, so that it need not be computed again."""

import shutil
import zipfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convrag import Store
from convrag.sdk.files import open_atomically

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
