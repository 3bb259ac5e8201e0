"""What decides how `retriever=bm25` finds and weighs words: its settings, and how a text is split into words."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from convrag.sdk.words import stem_words

_WORD = re.compile(r"(?u)\b\w\w+\b")  # as scikit-learn and bm25s split
_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
"""The stop words of Lucene's English analyzer."""
_STOPWORDS = frozenset(_LUCENE.split())


@dataclass(frozen=True)
class BM25Settings:
    """The parameters that decide what an index holds; see BM25Retriever. With the corpus they are its key."""

    k1: float
    b: float
    stopwords: Literal["english", "none"]
    stemmer: Literal["english", "none"]


def tokenize(texts: Iterable[str], settings: BM25Settings) -> Iterator[list[str]]:
    """Yield the words of each text, of passages and queries alike, in order, repeated ones included."""
    dropped = _STOPWORDS if settings.stopwords == "english" else frozenset()
    for text in texts:
        words = [word for word in _WORD.findall(text.lower()) if word not in dropped]
        yield stem_words(words) if settings.stemmer == "english" else words
