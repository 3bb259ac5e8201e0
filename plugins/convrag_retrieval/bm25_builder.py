"""Builds the BM25 index of one domain: finds the words of its passages, and weighs them.

The formula is Lucene's (Kamphuis et al. 2020), as bm25s has it.
"""

import json
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convrag import ConfigError
from convrag.sdk.corpus import Corpus
from convrag.sdk.progress import show_step, track
from convrag_retrieval.bm25_index import WORDS, Postings
from convrag_retrieval.bm25_settings import BM25Settings, tokenize

_BLOCK = 1 << 22


def build_index(corpus: Corpus, settings: BM25Settings, folder: Path) -> None:
    """Index the passages by position, and save the index into an empty folder. Raises ConfigError without words."""
    numbers: dict[str, int] = {}
    tokens, lengths = array("i"), array("q")
    passages = track(corpus, f"Indexing {corpus.domain}", total=len(corpus))
    for words in tokenize((passage.content for passage in passages), settings):
        tokens.extend([numbers.setdefault(word, len(numbers)) for word in words])
        lengths.append(len(words))
    if not numbers:
        raise ConfigError(f"the passages of {corpus.domain!r} hold no word that could be searched for")
    with show_step(f"Weighing words of {corpus.domain}"):
        found = np.frombuffer(tokens, dtype=np.int32), np.frombuffer(lengths, dtype=np.int64)
        Postings.save(folder, *weigh_words(*found, len(numbers), settings))
    (folder / WORDS).write_text(json.dumps(list(numbers)), encoding="utf-8")


def weigh_words(
    tokens: NDArray[np.int32], lengths: NDArray[np.int64], words: int, settings: BM25Settings
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
    """Weigh the words of passages.

    Args:
        tokens: the words of all passages as numbers, passage by passage.
        lengths: (n,) the number of words of each passage.
        words: how many there are; each occurs.
        settings: of the retriever.

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
    passages = np.diff(starts)
    rarity = np.log(1 + (len(lengths) - passages + 0.5) / (passages + 0.5))
    relative = lengths / lengths.mean()
    weights = np.empty(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), _BLOCK):
        block = slice(start, start + _BLOCK)
        norms = 1 - settings.b + settings.b * relative[positions[block]]
        weights[block] = rarity[pairs[block] >> 32] * (frequencies[block] / (frequencies[block] + settings.k1 * norms))
    return weights, positions, starts
