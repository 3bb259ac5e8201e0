"""The words of a text that tell what it is about."""

from __future__ import annotations

import re
from functools import cache

from convrag.sdk.stemming import stem_words

_WORD = re.compile(r"[^\W_]+")


def stem_content_words(text: str) -> set[str]:
    """The English stems of the words that are no stop words."""
    stop_words = _stop_words()
    return set(stem_words([word for word in _WORD.findall(text.lower()) if word not in stop_words]))


@cache
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)
