"""The words of passages as numbers, which an index keeps for the next one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOKENS, _LENGTHS = "tokens.npy", "lengths.npy"
_BLOCK = 1 << 20


class TokenLists:
    """The words of n texts as numbers, one text after the other in one array: a tenth of the memory of n lists.

    Args:
        tokens: int32, the words of all texts.
        lengths: (n,) the number of words of each.
    """

    def __init__(self, tokens: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        self.tokens = tokens
        self.lengths = lengths
        self._ends = np.cumsum(lengths)
        self._starts = self._ends - lengths

    def __len__(self) -> int:
        return len(self._ends)

    def get(self, index: int) -> NDArray[np.int32]:
        """Return the words of one text."""
        return self.tokens[self._starts[index] : self._ends[index]]

    def save(self, folder: Path) -> None:
        """Save the lists into a folder."""
        np.save(folder / _TOKENS, self.tokens)
        np.save(folder / _LENGTHS, self.lengths)

    @classmethod
    def load(cls, folder: Path) -> TokenLists:
        """Load the lists from a folder."""
        return cls(np.load(folder / _TOKENS), np.load(folder / _LENGTHS))


class Vocabulary:
    """Numbers for words, in the order in which the words are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def list_words(self) -> list[str]:
        """List the words by number."""
        return list(self._numbers)

    def number(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Return the numbers of words; new words get new ones."""
        known = self._numbers
        return np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int32)

    def renumber(self, texts: Sequence[NDArray[np.int32]]) -> tuple[TokenLists, dict[str, int]]:
        """Join texts, with new numbers as if they alone had been seen, in their order; and return word -> new number.

        So the index is the same, byte for byte, whatever earlier builds gave.
        """
        joined = np.concatenate(texts) if texts else np.zeros(0, dtype=np.int32)
        first = np.full(len(self._numbers), len(joined), dtype=np.int64)
        for start in reversed(range(0, len(joined), _BLOCK)):
            block = joined[start : start + _BLOCK]
            first[block[::-1]] = np.arange(start, start + len(block))[::-1]
        seen = np.argsort(first, kind="stable")[: int((first < len(joined)).sum())]
        new = np.zeros(len(self._numbers), dtype=np.int32)
        new[seen] = np.arange(len(seen), dtype=np.int32)
        words = self.list_words()
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        return TokenLists(new[joined], lengths), {words[old]: number for number, old in enumerate(seen.tolist())}
