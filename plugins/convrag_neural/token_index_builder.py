"""Builds of an index of token vectors: texts that an earlier or killed build encoded are reused."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convrag import Store
from convrag.sdk.files import open_atomically
from convrag.sdk.output.progress import count_parts
from convrag.sdk.search.corpus import Corpus
from convrag_neural.token_index import (
    STARTS,
    TEXTS,
    TextTokens,
    create_vectors,
    make_starts,
)

PART = 256
"""Passages that are encoded and kept at once; they are lost when a build is killed."""


@dataclass(eq=False)
class TokenIndexBuilder:
    """Builds the index of one corpus.

    Args:
        corpus: the passages.
        encode: makes the vectors of texts.
        dtype: the numbers that are kept: float16 or float32.
        store: has the earlier index.
        parts: the folder of the parts that a killed build leaves.
        earlier: the index before the passages changed, made by the same model; None without one.
    """

    corpus: Corpus
    encode: Callable[[list[str]], Sequence[NDArray[np.float32]]]
    dtype: str
    store: Store
    parts: Path
    earlier: Path | None
    encoded: int = 0
    """The texts that `build` encoded."""

    def build(self, folder: Path) -> None:
        """Write the vectors, passage by passage, into an empty folder."""
        self._hashes: NDArray[np.bytes_] = np.array(self.corpus.hash_texts(), dtype="S16")
        self._order = np.argsort(self._hashes, kind="stable")
        self._sorted = self._hashes[self._order]
        earlier = self.store.folders.reading(self.earlier) if self.earlier else nullcontext(False)
        # The lock is against a build of the same data set with other passages.
        with self.store.folders.lock([str(self.parts)]), earlier as is_sound:
            before = self.earlier if is_sound else None
            counts, width = self._count_tokens(before)
            missing = np.flatnonzero(counts < 0)
            self._encode_missing(missing)
            if len(missing):
                counts, width = self._count_tokens(before)
            self._write(folder, make_starts(counts), width, before)

    def clean_up(self) -> None:
        """Remove the parts, once the folder is complete."""
        if self.parts.exists():
            with self.store.folders.lock([str(self.parts)]):
                shutil.rmtree(self.parts, ignore_errors=True)

    def _count_tokens(self, before: Path | None) -> tuple[NDArray[np.int64], int]:
        """Count the tokens of each passage, -1 of an unknown one, and those of a vector's width."""
        counts = np.full(len(self._hashes), -1, dtype=np.int64)
        width = 0
        for known in self._read_known(before):
            width = known.vectors.shape[1]
            for place, positions in self._match(known):
                counts[positions] = known.starts[place + 1] - known.starts[place]
        return counts, width

    def _write(
        self, folder: Path, starts: NDArray[np.int64], width: int, before: Path | None
    ) -> None:
        """Write the files of the index."""
        vectors = create_vectors(folder, (int(starts[-1]), width), self.dtype)
        for known in self._read_known(before):
            for place, positions in self._match(known):
                rows = known.get(place)
                for position in positions.tolist():
                    vectors[starts[position] : starts[position + 1]] = rows
        vectors.flush()
        np.save(folder / STARTS, starts)
        np.save(folder / TEXTS, self._hashes)

    def _encode_missing(self, positions: NDArray[np.int64]) -> None:
        """Encode the passages at positions, each text once, and keep them in parts."""
        _, firsts = np.unique(self._hashes[positions], return_index=True)
        distinct = positions[np.sort(firsts)].tolist()
        if not distinct:
            return
        with count_parts(f"Encoding {self.corpus.domain}", total=len(distinct)) as advance:
            for start in range(0, len(distinct), PART):
                batch = distinct[start : start + PART]
                texts = [passage.content for passage in self.corpus.get_by_position(batch)]
                tokens = TextTokens.join(self._hashes[batch], self.encode(texts), self.dtype)
                self._save_part(tokens)
                self.encoded += len(batch)
                advance(len(batch))

    def _save_part(self, tokens: TextTokens) -> None:
        """Write a part; its file is there as a whole, or not at all."""
        self.parts.mkdir(parents=True, exist_ok=True)
        with open_atomically(self.parts / f"{tokens.hashes[0].hex()}.npz", "wb") as file:
            np.savez(file, hashes=tokens.hashes, starts=tokens.starts, vectors=tokens.vectors)

    def _read_known(self, before: Path | None) -> Iterator[TextTokens]:
        """Yield what the earlier index and the parts have."""
        if before is not None:
            yield TextTokens.open(before)
        for path in sorted(self.parts.glob("*.npz")):
            part = _read_part(path)
            if part is not None:
                yield part

    def _match(self, known: TextTokens) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the place of each known text that the corpus has, and its positions there."""
        starts = np.searchsorted(self._sorted, known.hashes, side="left")
        ends = np.searchsorted(self._sorted, known.hashes, side="right")
        for place in np.flatnonzero(ends > starts).tolist():
            yield place, self._order[starts[place] : ends[place]]


def _read_part(path: Path) -> TextTokens | None:
    """Read a part; None where its file is damaged."""
    try:
        with path.open("rb") as opened, np.load(opened) as file:
            return TextTokens(file["hashes"], file["starts"], file["vectors"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
