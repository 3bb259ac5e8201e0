"""The rows of an index that is being built, in a file that survives when the process is killed."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = struct.Struct("<II")  # the number of rows, and the checksum of what follows
_HASH = np.dtype("S16")


@dataclass(frozen=True)
class Rows:
    """Vectors of texts: (n,) hashes of the texts, and their (n, d) float32 rows."""

    hashes: NDArray[np.bytes_]
    rows: NDArray[np.float32]


class RowJournal:
    """Vectors in the order in which they were computed. Each batch has a checksum; a half-written last one is dropped.

    Args:
        path: the file.
        family: names the embedder. A file of another embedder counts as empty, and is overwritten.
    """

    def __init__(self, path: Path, family: str) -> None:
        self.path = path
        self._family = family

    def read(self) -> Iterator[Rows]:
        """Yield the batches that are whole."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            if width := self._read_width(file):
                for batch, _ in _read_batches(file, width):
                    yield batch

    def append(self, batch: Rows) -> None:
        """Write a batch after the last one that is whole."""
        end = self._find_end(batch.rows.shape[1])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("r+b" if end else "wb") as file:
            file.seek(end)
            file.truncate()
            if not end:
                file.write(json.dumps([self._family, batch.rows.shape[1]]).encode() + b"\n")
            body = batch.hashes.astype(_HASH).tobytes() + np.ascontiguousarray(batch.rows, dtype="<f4").tobytes()
            file.write(_HEAD.pack(len(batch.hashes), zlib.crc32(body)) + body)
            file.flush()
            os.fsync(file.fileno())
        self._end = self.path.stat().st_size

    _end = 0
    """Where the last whole batch ends; 0 before it is known."""

    def _find_end(self, width: int) -> int:
        if not self._end:
            with suppress(FileNotFoundError), self.path.open("rb") as file:
                if self._read_width(file) == width:
                    self._end = file.tell()
                    for _, self._end in _read_batches(file, width):
                        pass
        return self._end

    def _read_width(self, file: IO[bytes]) -> int:
        """Read the first line: the length of the rows; 0 where they are another embedder's."""
        try:
            family, width = json.loads(file.readline(200))
            return int(width) if family == self._family else 0
        except (ValueError, TypeError):
            return 0


def _read_batches(file: IO[bytes], width: int) -> Iterator[tuple[Rows, int]]:
    """Yield batches with the places where they end, up to the first that is not whole."""
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        count, checksum = _HEAD.unpack(head)
        size = count * (_HASH.itemsize + 4 * width)
        if not count or size > os.fstat(file.fileno()).st_size - file.tell():
            return
        body = file.read(size)
        if zlib.crc32(body) != checksum:
            return
        hashes = np.frombuffer(body, dtype=_HASH, count=count)
        rows = np.frombuffer(body, dtype="<f4", offset=count * _HASH.itemsize).reshape(count, width)
        yield Rows(hashes, rows), file.tell()
