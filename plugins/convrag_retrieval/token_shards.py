"""The words of passages of an index that is being built, in files that survive when the process is killed."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from convrag.sdk.files import open_atomically
from convrag_retrieval.token_lists import TokenLists

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARD = 50_000
"""Passages whose words are kept at once."""


class Shard(NamedTuple):
    """The words of n passages."""

    hashes: NDArray[np.bytes_]
    """(n,) the hashes of their texts."""
    words: Sequence[str]
    lists: TokenLists
    """Numbers of words in `words`."""


class TokenShards:
    """Files with the words of some passages each. A file is there as a whole, or not at all.

    Args:
        folder: has them; made for the first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = str(folder)

    def read(self) -> Iterator[Shard]:
        """Yield the shards; damaged files are left out."""
        for path in sorted(self._folder.glob("*.npz")):
            if shard := _read_shard(path):
                yield shard

    def add(self, hashes: NDArray[np.bytes_], known_words: Sequence[str], texts: Sequence[NDArray[np.int32]]) -> None:
        """Write a shard.

        Args:
            hashes: (n,) of the texts.
            known_words: words by number.
            texts: n times the numbers of words.
        """
        used, tokens = np.unique(np.concatenate(texts), return_inverse=True)
        words = json.dumps([known_words[number] for number in used]).encode()
        self._folder.mkdir(parents=True, exist_ok=True)
        with open_atomically(self._folder / f"{hashes[0].hex()}.npz", "wb") as file:
            np.savez(
                file,
                hashes=hashes,
                words=np.frombuffer(words, dtype=np.uint8),
                tokens=tokens.astype(np.int32),
                lengths=np.array([len(text) for text in texts], dtype=np.int64),
            )

    def remove(self) -> None:
        """Remove all shards."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _read_shard(path: Path) -> Shard | None:
    """Read a shard; None where its file is damaged."""
    with (
        suppress(OSError, ValueError, KeyError, zipfile.BadZipFile),
        path.open("rb") as opened,
        np.load(opened) as file,
    ):
        words = json.loads(file["words"].tobytes())
        return Shard(file["hashes"], words, TokenLists(file["tokens"], file["lengths"]))
    return None
