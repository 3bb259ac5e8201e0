"""Words of a text as this package compares them: their stems, and which of them are content words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from convrag.sdk.stemming import stem_words
from convrag.sdk.stop_words import is_stop_word

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Word(NamedTuple):
    """A word as it stands in a text, and the stem that it shares with its other forms."""

    text: str
    stem: str


def find_words(text: str) -> Iterator[Word]:
    """All words of a text, in order."""
    for match in _WORD.finditer(text):
        yield Word(match[0], _stem(match[0].lower()))


def find_content_words(text: str) -> Iterator[Word]:
    """The content words of a text, in order."""
    return (word for word in find_words(text) if is_content_word(word.text))


def stem_content_words(text: str) -> set[str]:
    """The distinct stems of a text's content words."""
    return {word.stem for word in find_content_words(text)}


def is_content_word(word: str) -> bool:
    """Whether a word is neither a stop word nor a single character."""
    return len(word) > 1 and not is_stop_word(word)


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """The English stem of a word in lower case."""
    return stem_words([word.replace("’", "'").removesuffix("'s")])[0]


def count_tokens(text: str) -> int:
    """The number of words and punctuation marks of a text."""
    return sum(1 for _ in _TOKEN.finditer(text))
