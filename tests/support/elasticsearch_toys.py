"""A data set and an embedder for the tests of the retrievers on a cluster."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from convrag.api.conversations import Conversation
from convrag.api.errors import DataError
from convrag.api.passages import Passage
from convrag.api.stage import Embedder
from convrag.api.stages import Dataset


class Hashed(Embedder):
    """Each word is one of sixteen directions; `asked` counts the texts."""

    fingerprint = "hashed"

    def __init__(self) -> None:
        self.asked = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.asked += len(texts)
        rows = np.zeros((len(texts), 16), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.strip(".,?!;").encode()) % 16] += 1
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths == 0, 1, lengths)


class Streamed(Dataset):
    """So many passages, made as they are asked for; `read` counts them, `broken` is where the file ends badly.

    `on_read` has what happens before a passage is read.
    """

    def __init__(
        self,
        count: int,
        broken: int | None = None,
        on_read: Mapping[int, Callable[[], object]] | None = None,
    ) -> None:
        self.count = count
        self.broken = broken
        self.on_read = on_read or {}
        self.read = 0

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        return f"{self.count} streamed"

    def corpus(self, domain: str) -> Iterator[Passage]:
        for number in range(self.count):
            if number == self.broken:
                raise DataError("the file is broken", path="corpus.jsonl", line=number + 1)
            self.on_read.get(number, lambda: None)()
            self.read += 1
            yield Passage(f"p{number}", f"passage {number} about tea")
