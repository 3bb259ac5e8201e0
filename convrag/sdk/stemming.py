"""Stems of English words, which are equal for the inflected forms of a word."""

from __future__ import annotations

import threading
from collections.abc import Sequence

__all__ = ["LIBRARIES", "stem_words"]

LIBRARIES = ("PyStemmer",)
"""Their versions are part of the fingerprints of stages that use this module."""

_thread = threading.local()
"""Holds a stemmer for each thread, since stemmers are not thread-safe."""


def stem_words(words: Sequence[str]) -> list[str]:
    """Stem words: "whistles" and "whistling" both become "whistl".

    Uses the English Snowball stemmer (Porter 2) of PyStemmer, which is imported at the first call. Thread-safe.

    Args:
        words: n words in lower case; the stemmer does not know suffixes in capitals. Numbers and words in other scripts
            do not change.

    Returns:
        n stems, in the order of the words. Stems are for comparison and often are no words.
    """
    if not hasattr(_thread, "stemmer"):
        import Stemmer

        _thread.stemmer = Stemmer.Stemmer("english")
    stems: list[str] = _thread.stemmer.stemWords(words)
    return stems
