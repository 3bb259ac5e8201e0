"""English stems: what inflected forms of a word have in common, so that they compare equal."""

from __future__ import annotations

import threading
from collections.abc import Sequence

_thread = threading.local()
"""A stemmer keeps state while it works, so that two threads must not share one: each has its own."""


def stem_words(words: Sequence[str]) -> list[str]:
    """The stem of each word, in order: "whistles" and "whistling" are both "whistl".

    The stems are those of the English Snowball stemmer (Porter 2), through PyStemmer, which is imported at the first
    call. May be called from any thread.

    Args:
        words: n words in lower case; a capital letter hides a suffix from the stemmer. Numbers and words of other
            scripts stay as they are.

    Returns:
        n stems. They are for comparing, and often no words themselves.
    """
    if not hasattr(_thread, "stemmer"):
        import Stemmer

        _thread.stemmer = Stemmer.Stemmer("english")
    stems: list[str] = _thread.stemmer.stemWords(words)
    return stems
