"""Parts of an index that is being built, in files that survive when the process is killed."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convrag.sdk.files import open_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

Shard = dict[str, "NDArray[Any]"]
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
