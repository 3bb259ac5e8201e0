"""Words as this package compares them: the stems of those that carry content, and those that turn a statement round."""

from __future__ import annotations

import re
import threading
from functools import cache

_WORD = re.compile(r"[^\W_]+(?:(?:[-'’.]|(?<=\d),(?=\d))[^\W_]+)*")
_NEGATIONS = frozenset(("no", "not", "nor", "never", "none", "neither", "nothing", "nobody", "without", "cannot"))
_ASKING = """
also could describe explain find get give help know like may mean might must please say tell want would
"""  # what people say when they ask, whatever they ask about
_local = threading.local()


def words(text: str) -> list[str]:
    """All words of a text, in lower case; 384,400 and Jean-Paul are one word each."""
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


def stems(text: str) -> list[str]:
    """The English stems of the words that carry content, in order; words of other scripts stay as they are."""
    ignored = _ignored()
    kept = [word.removesuffix("'s") for word in words(text) if word not in ignored]
    if not hasattr(_local, "stemmer"):  # a stemmer is not thread-safe
        from Stemmer import Stemmer

        _local.stemmer = Stemmer("english")
    found: list[str] = _local.stemmer.stemWords(kept)
    return found


def facts(text: str) -> list[str]:
    """The numbers and negations of a text, sorted: two texts that differ in them do not say the same."""
    return sorted(word for word in words(text) if is_number(word) or _negates(word))


def is_number(word: str) -> bool:
    """Whether a word has a digit: 1969, 3.5, 11th."""
    return any(character.isdigit() for character in word)


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


@cache
def _ignored() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS) | frozenset(_ASKING.split())
