"""The BM25 index of one domain, memory-mapped: its words, their posting lists, the search for the best, and the build.

The formula is Lucene's (Kamphuis et al. 2020), as bm25s has it.
"""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convrag import ConfigError
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import show_step, track
from convrag.sdk.spelling import find_nearest
from convrag.sdk.words import is_known
from convrag_retrieval.bm25_settings import BM25Settings

WORDS = "words.json"
"""The words of an index, by number: a file of every index."""

_WEIGHTS, _POSITIONS, _STARTS, _LARGEST = "weights.npy", "positions.npy", "starts.npy", "largest.npy"
_ROUNDING = 1e-9
"""Twice what rounding can change a sum of float64 numbers by, as a share of the largest sum, and more."""
_ALL = slice(None)
_MANY = 100
"""The fewest passages of a file that is not to rule how rare words are, such as a table."""
_FEW = 8
"""Looking a passage up in the list of a word takes as long as adding up so many passages of the list."""


class BM25Index:
    """A saved index, memory-mapped and never written to: any number of threads and processes may search it.

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
        spelt = self._numbers if self._analysis.form == "auto" else ()  # plain words are taken as they are
        self._find_nearest = lru_cache(1024)(partial(find_nearest, words=spelt))

    def search(self, texts: Sequence[str], weights: Sequence[float], k: int) -> list[tuple[int, float]]:
        """Search for weighted queries: at most k (position, summed score), best first, ties by position."""
        return self.postings.search(self._weigh_words(texts, weights), k)

    def score(self, texts: Sequence[str], weights: Sequence[float], positions: Sequence[int]) -> NDArray[np.float64]:
        """Score the passages at positions for weighted queries: (n,) sums of weight times score."""
        return self.postings.score(self._weigh_words(texts, weights), np.array(positions, dtype=np.int32))

    def _weigh_words(self, texts: Sequence[str], weights: Sequence[float]) -> dict[int, float]:
        """Add up the weights of the words of queries: number -> weight."""
        words: dict[int, float] = {}
        for text, weight in zip(texts, weights, strict=True):
            for word in self._analysis.split(text, question=True):
                if (number := self._numbers.get(word)) is None:
                    number = self._numbers.get(self._find_nearest(word))
                if number is not None:
                    words[number] = words.get(number, 0.0) + weight
        return words

    def find_replacements(self, texts: Iterable[str]) -> dict[str, str]:
        """Find the words of queries that the index lacks: word -> the nearest one that it has, where one is near."""
        unknown = {word for text in texts for word in self._analysis.split(text, question=True)} - self._numbers.keys()
        return {word: near for word in sorted(unknown) if (near := self._find_nearest(word))}


class _Term(NamedTuple):
    """A word of a query."""

    positions: NDArray[np.int32]
    """The passages that have it, rising."""
    weights: NDArray[np.float32]
    """Its weight in each of them."""
    weight: float
    """That of the query."""
    most: float
    """The most that it adds to a score; 0 for a word that lowers scores."""

    def score(self, places: slice | NDArray[np.int64] = _ALL) -> NDArray[np.float64]:
        """Score the passages at places in the list: what the word adds to each."""
        scores: NDArray[np.float64] = self.weights[places].astype(np.float64) * self.weight
        return scores


class Postings:
    """The postings of all words, memory-mapped and never written to: any number of threads may search them.

    Args:
        folder: where `save` put them.
        size: the number of passages.
    """

    def __init__(self, folder: Path, size: int) -> None:
        files = (np.load(folder / name, mmap_mode="r") for name in (_WEIGHTS, _POSITIONS, _STARTS, _LARGEST))
        self._weights, self._positions, self._starts, self._largest = (np.asarray(array) for array in files)
        self._size = size

    @staticmethod
    def save(
        folder: Path, weights: NDArray[np.float32], positions: NDArray[np.int32], starts: NDArray[np.int64]
    ) -> None:
        """Save postings into a folder.

        Args:
            folder: an empty one.
            weights: (p,) the weight of a word in a passage, 0 or more, word by word.
            positions: (p,) the passage, rising within each word.
            starts: (words + 1,) where each word begins; each has a passage.
        """
        np.save(folder / _WEIGHTS, weights)
        np.save(folder / _POSITIONS, positions)
        np.save(folder / _STARTS, starts)
        np.save(folder / _LARGEST, np.maximum.reduceat(weights, starts[:-1]))

    def search(self, words: Mapping[int, float], k: int) -> list[tuple[int, float]]:
        """Search for the passages with the largest positive sums of weight times score of words.

        The words that can add most come first. As soon as k passages score more than all words to come could add, no
        other passage can be among the best (MaxScore, Turtle and Flood 1995): the long lists of frequent words are only
        looked up for the passages that are left. The result is as if all words were summed up for all passages.

        Args:
            words: number of a word -> its weight in the query.
            k: how many, at least 1.

        Returns:
            At most k (position, score), best first, ties by position.
        """
        terms = self._find_terms(words)
        rests = np.cumsum([0.0, *(term.most for term in reversed(terms))])[::-1]
        rests = rests + _ROUNDING * rests[0]
        positions, scores, done, least = self._add_up(terms, rests, k)
        for term, rest in zip(terms[done:], rests[done + 1 :], strict=True):
            scores += _look_up(term, positions)
            least = _raise_least(least, scores, k)
            kept = scores >= least - rest
            positions, scores = positions[kept], scores[kept]
        found = scores > 0
        positions, scores = positions[found], scores[found]
        order = np.argsort(-scores, kind="stable")[:k]
        return list(zip(positions[order].tolist(), scores[order].tolist(), strict=True))

    def score(self, words: Mapping[int, float], positions: NDArray[np.int32]) -> NDArray[np.float64]:
        """Score passages at any positions, (n,), exactly as `search` does; 0 for those without any of the words."""
        scores = np.zeros(len(positions))
        for term in self._find_terms(words):
            scores += _look_up(term, positions)
        return scores

    def _add_up(
        self, terms: list[_Term], rests: NDArray[np.float64], k: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], int, float]:
        """Add up the scores of terms until no further passage can be among the best.

        Returns:
            Positions of those that can, rising, their scores so far, how many terms were added, and a score that k
            passages reach.
        """
        sums = np.zeros(self._size)
        least, done = 0.0, 0
        near: list[NDArray[np.int32]] = []
        for done, (term, rest) in enumerate(zip(terms, rests[1:], strict=True), 1):
            sums[term.positions] += term.score()
            if term.most:
                least = _raise_least(least, sums[term.positions], k)
            if least > rest or done == len(terms):
                near = [term.positions[sums[term.positions] >= least - rest] for term in terms[:done] if term.most]
                if _FEW * sum(map(len, near)) <= sum(len(term.positions) for term in terms[done:]):
                    break
        positions = np.unique(np.concatenate([*near, np.zeros(0, dtype=np.int32)]))
        return positions, sums[positions], done, least

    def _find_terms(self, words: Mapping[int, float]) -> list[_Term]:
        """Find the terms of a query in the order in which they are summed: first those that lower scores, if any."""
        terms = []
        for word, weight in sorted(words.items()):
            if weight:
                start, end = self._starts[word], self._starts[word + 1]
                most = max(0.0, weight * float(self._largest[word]))
                terms.append(_Term(self._positions[start:end], self._weights[start:end], weight, most))
        return sorted(terms, key=lambda term: -term.most or -np.inf)


def _look_up(term: _Term, positions: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the scores of a term at positions; 0 for passages that lack it."""
    places = np.minimum(np.searchsorted(term.positions, positions), len(term.positions) - 1)
    return np.where(term.positions[places] == positions, term.score(places), 0.0)


def _raise_least(least: float, scores: NDArray[np.float64], k: int) -> float:
    """Return the k-th largest of the scores, where it is larger than one that was found before."""
    scores = scores[scores >= least]
    return max(least, float(np.partition(scores, -k)[-k])) if len(scores) >= k else least


_BLOCK = 1 << 22


def build_index(corpus: Corpus, settings: BM25Settings, folder: Path) -> None:
    """Index the passages by position, and save the index into an empty folder. Raises ConfigError without words."""
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
        raise ConfigError(f"the passages of {corpus.domain!r} hold no word that could be searched for")
    with show_step(f"Weighing words of {corpus.domain}"):
        counted = _put_terms(np.frombuffer(tokens, dtype=np.int32), np.frombuffer(lengths, dtype=np.int64), terms)
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
        ends = np.cumsum(counts[block])
        blocks.append(every[np.repeat(firsts[block] - ends + counts[block], counts[block]) + np.arange(ends[-1])])
    bounds = np.cumsum(np.concatenate([[0], counts[tokens]]))[np.concatenate([[0], np.cumsum(lengths)])]
    return np.concatenate(blocks), np.diff(bounds)


def _share_out(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Say what each passage of n files counts, (n,): those of a file that has most count for as many as all others."""
    rest = sizes.sum() - sizes
    return np.where((rest > 0) & (rest < sizes) & (sizes >= _MANY), rest / sizes, 1.0)


def _describe(languages: Sequence[str], names: Iterable[str], sizes: NDArray[np.int64]) -> Iterator[str]:
    """Say what a user should know of the passages: a language that nothing is known of, a file that has most."""
    for language in languages:
        if not is_known(language):
            yield f"no stop words or stems are known for the language {language!r}: its words are found as written"
    if _share_out(sizes).min() < 1:
        name, most = [*names][int(sizes.argmax())], int(sizes.max())
        yield f"{name} has {most:,} of the {sizes.sum():,} passages: words are counted as if it had half of them"


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
        (p,) weights, word by word; (p,) the passages, rising within a word; (words + 1,) where each word begins.
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
        weights[block] = rarity[pairs[block] >> 32] * (frequencies[block] / (frequencies[block] + settings.k1 * norms))
    return weights, positions, starts
