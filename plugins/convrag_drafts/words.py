"""The words of a text that tell what it is about."""

from __future__ import annotations

import re

from convrag.sdk.bm25s_stop_words import bm25s_stop_words
from convrag.sdk.stemming import stem_words

_WORD = re.compile(r"[^\W_]+")


def stem_content_words(text: str) -> set[str]:
    """The English stems of the words that are no stop words."""
    stop_words = bm25s_stop_words()
    return set(stem_words([word for word in _WORD.findall(text.lower()) if word not in stop_words]))
