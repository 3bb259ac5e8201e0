"""rank_bm25: BM25Okapi over lists of words. Words and stop words are those of convrag's default."""

import re

import numpy as np
from rank_bm25 import BM25Okapi

from searching import FOUND, measure
from stop_words import STOP_WORDS

_WORD = re.compile(r"(?u)\b\w\w+\b")


def split(text: str) -> list[str]:
    """The words of a text without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def search(index: BM25Okapi, query: str) -> list[int]:
    """Find the best passages by scoring and sorting all, as `get_top_n` does."""
    ranked: list[int] = np.argsort(index.get_scores(split(query)))[::-1][:FOUND].tolist()
    return ranked


if __name__ == "__main__":
    measure(lambda texts: BM25Okapi([split(text) for text in texts]), search)
