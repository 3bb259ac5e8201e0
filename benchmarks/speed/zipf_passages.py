"""A data set of any size: passages of some 60 words of Zipf's distribution."""

from collections.abc import Iterator

import numpy as np

from convrag import Conversation, Dataset, Passage, Query
from convrag.sdk.types import CorpusPart

_STOPWORDS = "the of and to in a is that it was for on are as with at by this be or from not have but an which"
_WORDS = 400_000
_PART = 10_000


class ZipfPassages(Dataset):
    """Passages p0, p1, ... whose words follow Zipf's law, function words first.

    Args:
        size: how many.
    """

    series = "zipf"

    def __init__(self, size: int) -> None:
        self.size = size
        random = np.random.default_rng(1)
        letters = np.array(list("etaoinshrdlucmfwypvb"))
        lengths = random.integers(3, 11, _WORDS)
        rows = random.choice(letters, (_WORDS, 10))
        made = ["".join(row[:length]) for row, length in zip(rows, lengths, strict=True)]
        self._words = np.array(_STOPWORDS.split() + made, dtype=object)
        self._shares = np.cumsum(1 / np.arange(1, len(self._words) + 1))

    def conversations(self) -> Iterator[Conversation]:
        """Yield nothing."""
        return iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        """Return the size: that is all that two of these differ in."""
        return f"zipf {self.size}"

    def corpus_parts(self, domain: str) -> Iterator[CorpusPart]:
        """Yield parts of 10,000 passages, as files of a folder would be."""
        for start in range(0, self.size, _PART):
            end = min(start + _PART, self.size)
            yield CorpusPart(f"{start} {end}", lambda start=start, end=end: self._make(start, end))  # type: ignore[misc]

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield all passages."""
        for part in self.corpus_parts(domain):
            yield from part.read()

    def _make(self, start: int, end: int) -> Iterator[Passage]:
        random = np.random.default_rng(start)
        lengths = random.integers(30, 91, end - start)
        words = self._choose(random, int(lengths.sum()))
        place = 0
        for number, length in enumerate(lengths.tolist(), start):
            yield Passage(f"p{number}", " ".join(words[place : place + length]))
            place += length

    def queries(self, count: int) -> list[list[Query]]:
        """Make questions of 5 to 14 words, half of them function words."""
        random = np.random.default_rng(2)
        lengths = random.integers(5, 15, count)
        return [[Query(" ".join(self._choose(random, int(length))))] for length in lengths]

    def _choose(self, random: np.random.Generator, count: int) -> list[str]:
        found: list[str] = self._words[
            np.searchsorted(self._shares, random.random(count) * self._shares[-1])
        ].tolist()
        return found
