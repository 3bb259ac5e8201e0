"""Stems: "whistles" and "whistling" both become "whistl"."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

LIBRARIES = {"Stemmer": "PyStemmer"}
"""Their versions are part of the fingerprints of stages that use them (convrag.store.libraries)."""

_thread = threading.local()
"""Holds the stemmers of each thread, since they are not thread-safe."""

_RESTS = frozenset(("ll", "re", "ve", "qu"))
"""Remains of contractions: "we'll", "you're", "I've", "qu'il"."""


def drop_rests(word: str) -> list[str]:
    """Split a word at its apostrophes, and drop the remains of contractions."""
    pieces = word.split("'")
    if len(pieces) < 2:
        return pieces
    return [piece for piece in pieces if len(piece) > 1 and piece not in _RESTS]


def stem_words(words: Sequence[str], language: str = "english") -> list[str]:
    """Stem words: "whistles" and "whistling" both become "whistl".

    Uses a Snowball stemmer (Porter 2 for English) of PyStemmer, which is imported at the first
    call. Thread-safe.

    Args:
        words: n words in lower case; the stemmer does not know suffixes in capitals. Numbers and
            words in other scripts do not change.
        language: their language; without a Snowball stemmer, its words stay as they are.

    Returns:
        n stems, in the order of the words. Stems are for comparison and often are not words.
    """
    stemmer = get_stemmer(language)
    return list(words) if stemmer is None else stemmer.stemWords(words)


def get_stemmer(language: str) -> Any:
    """Return the stemmer of a language for this thread; None where Snowball has none."""
    stemmers = _thread.__dict__
    if language not in stemmers:
        import Stemmer

        is_known = language in Stemmer.algorithms()
        stemmers[language] = Stemmer.Stemmer(language, 0) if is_known else None
    return stemmers[language]


@lru_cache(16_384)
def stem_word(word: str, language: str) -> str:
    """Stem a word in lower case without remains of contractions; empty where it has no more."""
    plain = "'".join(drop_rests(word)).replace(",", "")
    return stem_words([plain], language)[0]
