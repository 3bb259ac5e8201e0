"""The BM25 index of one domain, memory-mapped: words, posting lists, search and build.

The formula is Lucene's (Kamphuis et al. 2020), as bm25s has it.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convrag import ConfigError
from convrag.sdk.output.progress import show_step, track
from convrag.sdk.search.corpus import Corpus
from convrag.sdk.search.postings import Postings
from convrag.sdk.text.analysis import is_known
from convrag_retrieval.bm25_settings import BM25Settings
from convrag_retrieval.spelling import find_nearest

WORDS = "words.json"
"""The words of an index, by number: a file of every index."""

_MANY = 100
"""The fewest passages of a file that is not to rule how rare words are, such as a table."""


class BM25Index:
    """A saved, memory-mapped index; many threads and processes may search it.

    Args:
        folder: where `build_index` saved it.
        settings: those that it was built with.
        size: the number of passages.
    """

    def __init__(self, folder: Path, settings: BM25Settings, size: int) -> None:
        self.postings = Postings(folder, size)
        saved = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        self.notes: list[str] = saved["notes"]
        self.languages: tuple[str, ...] = tuple(saved["languages"])
        self._analysis = replace(settings.analysis, languages=self.languages)
        self._numbers = {word: number for number, word in enumerate(saved["words"])}
        # plain words are taken as they are
        spelt = self._numbers if self._analysis.form == "auto" else ()
        self._find_nearest = lru_cache(1024)(partial(find_nearest, words=spelt))

    def search(
        self,
        texts: Sequence[str],
        weights: Sequence[float],
        k: int,
        among: NDArray[np.int64] | None = None,
    ) -> list[tuple[int, float]]:
        """Search for weighted queries: at most k (position, score), best first.

        `among` are the positions to search, rising; None for all.
        """
        return self.postings.search(self._weigh_words(texts, weights), k, among)

    def score(
        self, texts: Sequence[str], weights: Sequence[float], positions: Sequence[int]
    ) -> NDArray[np.float64]:
        """Score the passages at positions for weighted queries: (n,) sums of weight times score."""
        return self.postings.score(
            self._weigh_words(texts, weights), np.array(positions, dtype=np.int32)
        )

    def _weigh_words(self, texts: Sequence[str], weights: Sequence[float]) -> dict[int, float]:
        """Add up the weights of the words of queries: number -> weight."""
        words: dict[int, float] = {}
        for text, weight in zip(texts, weights, strict=True):
            for word, part in self._analysis.weigh(text):
                number = self._numbers.get(word)
                if number is None:
                    number = self._numbers.get(self._find_nearest(word))
                if number is not None:
                    words[number] = words.get(number, 0.0) + weight * part
        return words

    def find_replacements(self, texts: Iterable[str]) -> dict[str, str]:
        """Find query words that the index lacks: word -> the nearest one that it has, if any."""
        words = {word for text in texts for word in self._analysis.split(text, question=True)}
        nearest = {word: self._find_nearest(word) for word in sorted(words - self._numbers.keys())}
        return {word: near for word, near in nearest.items() if near}


_BLOCK = 1 << 22


def build_index(corpus: Corpus, settings: BM25Settings, folder: Path) -> None:
    """Index passages by position into an empty folder. Raises ConfigError without words."""
    analysis = settings.analysis.find(passage.content for passage in corpus.sample())
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    tokens, lengths, files = array("i"), array("q"), array("i")
    names: defaultdict[str, int] = defaultdict(lambda: len(names))
    for passage in track(corpus, f"Indexing {corpus.domain}", total=len(corpus)):
        found = analysis.tokenize(passage.content)
        tokens.fromlist([*map(numbers.__getitem__, found)])
        lengths.append(len(found))
        files.append(names[str(passage.metadata.get("document", "")).partition(":")[0]])
    words: defaultdict[str, int] = defaultdict(lambda: len(words))
    terms = [tuple([words[term] for term in found]) for found in analysis.find_terms(numbers)]
    if not words:
        raise ConfigError(
            f"the passages of {corpus.domain!r} hold no word that could be searched for"
        )
    with show_step(f"Weighing words of {corpus.domain}"):
        counted = _put_terms(
            np.frombuffer(tokens, dtype=np.int32), np.frombuffer(lengths, dtype=np.int64), terms
        )
        file_numbers = np.frombuffer(files, dtype=np.int32)
        sizes = np.bincount(file_numbers)
        shares = _share_out(sizes)[file_numbers]
        Postings.save(folder, *weigh_words(*counted, len(words), settings, shares))
    notes = [*_describe(analysis.languages, names, sizes)]
    saved = {"languages": analysis.languages, "notes": notes, "words": list(words)}
    (folder / WORDS).write_text(json.dumps(saved), encoding="utf-8")


def _put_terms(
    tokens: NDArray[np.int32], lengths: NDArray[np.int64], terms: Sequence[Sequence[int]]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Put the terms of tokens in their place.

    Args:
        tokens: of all passages, passage by passage.
        lengths: (n,) the number of tokens of each passage.
        terms: of each token.

    Returns:
        The terms of all passages, passage by passage; (n,) the number of terms of each.
    """
    counts = np.fromiter(map(len, terms), np.int32, len(terms))
    every = np.fromiter(chain.from_iterable(terms), np.int32, int(counts.sum()))
    firsts = np.cumsum(counts) - counts
    blocks = []
    for start in range(0, len(tokens), _BLOCK):
        block = tokens[start : start + _BLOCK]
        sizes = counts[block]
        ends = np.cumsum(sizes)
        shifts = np.repeat(firsts[block] - (ends - sizes), sizes)
        blocks.append(every[shifts + np.arange(ends[-1])])
    terms_before_token = np.cumsum(np.concatenate([[0], counts[tokens]]))
    passage_starts = np.concatenate([[0], np.cumsum(lengths)])
    return np.concatenate(blocks), np.diff(terms_before_token[passage_starts])


def _share_out(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each passage of n files counts, (n,).

    The passages of a file that has most count for as many as all others.
    """
    rest = sizes.sum() - sizes
    return np.where((rest > 0) & (rest < sizes) & (sizes >= _MANY), rest / sizes, 1.0)


def _describe(
    languages: Sequence[str], names: Iterable[str], sizes: NDArray[np.int64]
) -> Iterator[str]:
    """Say what a user should know: an unknown language, or a file that has most passages."""
    for language in languages:
        if not is_known(language):
            yield (
                f"no stop words or stems are known for the language {language!r}: "
                "its words are found as written"
            )
    if _share_out(sizes).min() < 1:
        name, most = [*names][int(sizes.argmax())], int(sizes.max())
        yield (
            f"{name} has {most:,} of the {sizes.sum():,} passages: "
            "words are counted as if it had half of them"
        )


def weigh_words(
    tokens: NDArray[np.int32],
    lengths: NDArray[np.int64],
    words: int,
    settings: BM25Settings,
    shares: NDArray[np.float64],
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
    """Weigh the words of passages.

    Args:
        tokens: the words of all passages as numbers, passage by passage.
        lengths: (n,) the number of words of each passage.
        words: how many there are; each occurs.
        settings: of the retriever.
        shares: (n,) for how many a passage counts where words and lengths are counted.

    Returns:
        (p,) weights, word by word; (p,) the passages, rising within a word; (words + 1,) where each
        word begins.
    """
    pairs = tokens.astype(np.int64)
    pairs <<= 32
    pairs |= np.repeat(np.arange(len(lengths)), lengths)
    pairs.sort()
    firsts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    frequencies = np.diff(firsts, append=len(pairs)).astype(np.int32)
    pairs = pairs[firsts]
    positions = (pairs & 0xFFFFFFFF).astype(np.int32)
    starts = np.searchsorted(pairs, np.arange(words + 1) << 32)
    passages = np.add.reduceat(shares[positions], starts[:-1])
    rarity = np.log(1 + (shares.sum() - passages + 0.5) / (passages + 0.5))
    relative = lengths / np.average(lengths, weights=shares)
    weights = np.empty(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), _BLOCK):
        block = slice(start, start + _BLOCK)
        norms = 1 - settings.b + settings.b * relative[positions[block]]
        weights[block] = rarity[pairs[block] >> 32] * (
            frequencies[block] / (frequencies[block] + settings.k1 * norms)
        )
    return weights, positions, starts
