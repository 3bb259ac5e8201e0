"""The weights of words in passages by the formulas of BM25 that Kamphuis et al. (2020) compare, as bm25s has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from convrag_retrieval.bm25_settings import BM25Settings
from convrag_retrieval.token_lists import TokenLists

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 1 << 22


def weigh_words(
    lists: TokenLists, words: int, settings: BM25Settings
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
    """Weigh the words of passages.

    Under bm25l and bm25+ a passage has a score for a word that it lacks, the same for all passages; it is taken off all
    scores, so that a score above 0 means that a word was found.

    Args:
        lists: the words of each passage.
        words: how many there are; each occurs.
        settings: of the retriever.

    Returns:
        (p,) weights, word by word; (p,) the passages, rising within a word; (words + 1,) where each word begins.
    """
    lengths = lists.lengths
    pairs = lists.tokens.astype(np.int64)
    pairs <<= 32
    pairs |= np.repeat(np.arange(len(lengths)), lengths)
    pairs.sort()
    firsts = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
    frequencies = np.diff(firsts, append=len(pairs)).astype(np.int32)
    pairs = pairs[firsts]
    positions = (pairs & 0xFFFFFFFF).astype(np.int32)
    starts = np.searchsorted(pairs, np.arange(words + 1) << 32)
    rarity = _weigh_rarity(np.diff(starts), len(lengths), settings.method)
    relative = lengths / lengths.mean()
    weights = np.empty(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), _BLOCK):
        block = slice(start, start + _BLOCK)
        norms = 1 - settings.b + settings.b * relative[positions[block]]
        weights[block] = rarity[pairs[block] >> 32] * _weigh_frequency(frequencies[block], norms, settings)
    return weights, positions, starts


def _weigh_rarity(passages: NDArray[np.int64], total: int, method: str) -> NDArray[np.float64]:
    """Weigh words by the number of passages that have them: inverse document frequencies, 0 or more."""
    odds = (total - passages + 0.5) / (passages + 0.5)
    weights: dict[str, NDArray[np.float64]] = {
        "lucene": np.log(1 + odds),
        "robertson": np.log(np.maximum(odds, 1)),
        "atire": np.log(total / passages),
        "bm25l": np.log((total + 1) / (passages + 0.5)),
        "bm25+": np.log((total + 1) / passages),
    }
    return weights[method]


def _weigh_frequency(
    frequencies: NDArray[np.int32], norms: NDArray[np.float64], settings: BM25Settings
) -> NDArray[np.float64]:
    """Weigh words by how often passages have them, given the passages' length norms (1 for the average length)."""
    k1, delta = settings.k1, settings.delta
    weights: NDArray[np.float64]
    if settings.method == "bm25l":
        raised = frequencies / norms + delta
        absent = (k1 + 1) * delta / (k1 + delta) if delta else 0.0
        weights = (k1 + 1) * raised / (k1 + raised) - absent
    else:
        weights = frequencies / (frequencies + k1 * norms)
        if settings.method in ("atire", "bm25+"):  # bm25+ adds delta, which a passage without the word has as well
            weights *= k1 + 1
    return weights
