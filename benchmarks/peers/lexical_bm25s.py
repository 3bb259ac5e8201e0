"""bm25s with its own words and English stop words; numpy or numba is the fourth argument."""

import sys

import bm25s

from searching import FOUND, measure


def build(texts: list[str]) -> bm25s.BM25:
    """Index texts with Lucene's formula, k1=1.5 and b=.75, as convrag does."""
    words = bm25s.tokenize(texts, stopwords="en", show_progress=False)
    index = bm25s.BM25(backend=sys.argv[4])
    index.index(words, show_progress=False)
    return index


def search(index: bm25s.BM25, query: str) -> list[int]:
    """The best passages."""
    words = bm25s.tokenize(query, stopwords="en", show_progress=False)
    places, _ = index.retrieve(words, k=FOUND, show_progress=False, n_threads=1)
    ranked: list[int] = places[0].tolist()
    return ranked


if __name__ == "__main__":
    measure(build, search)
