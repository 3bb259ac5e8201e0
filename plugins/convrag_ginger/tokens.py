"""Words of a text as this package compares them: stems of content words, and numbers and negations.

A nugget is compared with the others of its turn and with the sentence that is made from it, and returns in later turns:
the words of the last texts are kept.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from convrag.sdk.bm25s_stop_words import bm25s_stop_words
from convrag.sdk.stemming import stem_words

_WORD = re.compile(r"[^\W_]+(?:(?:[-'’.]|(?<=\d),(?=\d))[^\W_]+)*")
_NEGATIONS = frozenset(("no", "not", "nor", "never", "none", "neither", "nothing", "nobody", "without", "cannot"))
_QUESTION_WORDS = """
also could describe explain find get give help know like may mean might must please say tell want would
"""  # common in questions on any topic, so they do not tell one topic from another

_KEPT = 2048
"""Texts whose words are kept."""


@lru_cache(_KEPT)
def split_words(text: str) -> tuple[str, ...]:
    """All words of a text, in order and in lower case; 384,400 and Jean-Paul are one word each."""
    return tuple(word.lower().replace("’", "'") for word in _WORD.findall(text))


@lru_cache(_KEPT)
def stem_content_words(text: str) -> tuple[str, ...]:
    """The English stems of the words that are no stop words, in order; words of other scripts stay as they are."""
    stop_words = _stop_words()
    return tuple(stem_words([word.removesuffix("'s") for word in split_words(text) if word not in stop_words]))


@lru_cache(_KEPT)
def find_numbers_and_negations(text: str) -> tuple[str, ...]:
    """The numbers and negations of a text, sorted. Texts that differ in them do not say the same."""
    return tuple(sorted(word for word in split_words(text) if is_number(word) or _is_negation(word)))


def is_number(word: str) -> bool:
    """Whether a word has a digit: 1969, 3.5, 11th."""
    return not word.isalpha() and any(map(str.isdigit, word))


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


@cache
def _stop_words() -> frozenset[str]:
    return bm25s_stop_words() | frozenset(_QUESTION_WORDS.split())
