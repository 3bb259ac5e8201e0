"""The word that a misspelt or shortened one stands for."""

import re
from collections.abc import Iterable

from rapidfuzz.distance import OSA, JaroWinkler

LIBRARIES = {"rapidfuzz": "rapidfuzz"}
"""Their versions are part of the fingerprints of stages that use them (convrag.store.libraries)."""

_NO_DIGITS = re.compile(r"\D+")
_NEAR = 0.88
"""The least similarity of a word to the one that it stands for."""


def find_nearest(word: str, words: Iterable[str], *, shortened: bool = True) -> str:
    """Find the word that a misspelt or shortened one stands for; empty where none is near.

    It begins with the same letter ("3.2" is near to "v3.2"), has the same digits, and begins with
    the whole word, or a letter in five is another; "timer" is no "time". Of several, the most
    similar one is taken (Winkler 1990).

    Args:
        word: that the words lack.
        words: to choose from.
        shortened: whether a word that begins with the whole word counts: "sev" for "severity".
    """
    digits = _NO_DIGITS.sub("", word)
    most = len(word) // 5  # of four letters, "send" and "spend" are two words
    likely = (other for other in words if other[0] in word[:2] and not word.startswith(other))
    begun = shortened and len(word) > 2
    near = (
        (JaroWinkler.similarity(word, other), other)
        for other in likely
        if (
            begun
            if other.startswith(word)
            else OSA.distance(word, other, score_cutoff=most) <= most
        )
    )
    best, found = max(
        (each for each in near if _NO_DIGITS.sub("", each[1]) == digits), default=(0.0, "")
    )
    return found if best >= _NEAR else ""
