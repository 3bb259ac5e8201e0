"""The length limit of an answer; counts words, without citations, and joins sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from convrag.sdk.text.analysis import (
    GRAMMAR_WORDS,
    count_words as count_words_of,
    split_words,
    stem_content_words,
)

WORDS_ONLY = 100
"""The limit in sentences that stands for a limit in words alone (GINGER's convention)."""

_MOST_WORDS = 400

# One or more citations, with the white space around them.
_CITATIONS = r"\s*(?:\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]\s*)+"
# Inline code is matched first and stays, as in convrag.sdk.text.citations: `items[0]` is not a
# citation.
_CODE_OR_CITATIONS = re.compile(rf"`[^`\n]*`|(?P<citations>{_CITATIONS})")


class LengthLimit(NamedTuple):
    """The most sentences and words of an answer."""

    sentences: int
    words: int

    @classmethod
    def of(cls, limit: int, words: int) -> LengthLimit:
        """Allow `limit` sentences of `words` words on average.

        A limit of 100 stands for 400 words, in any number of sentences.
        """
        return cls(limit, _MOST_WORDS if limit == WORDS_ONLY else limit * words)


def count_words(sentences: Iterable[str]) -> int:
    """Count the words of sentences of any script, without citations."""
    return sum(count_words_of(_remove_citations(sentence, " ")) for sentence in sentences)


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences with spaces; with a line break after one without an end mark, as in a list."""
    text = ""
    for sentence in sentences:
        if not text:
            text = sentence
            continue
        plain = _remove_citations(text, "").rstrip("\"'”’) ")
        separator = " " if plain.endswith((".", "!", "?", "…", "。")) else "\n"
        text += separator + sentence
    return text


def _remove_citations(text: str, replacement: str) -> str:
    """Replace citations and the white space around them; code stays."""

    def replace(match: re.Match[str]) -> str:
        return replacement if match["citations"] else match[0]

    return _CODE_OR_CITATIONS.sub(replace, text)


_NEGATIONS = frozenset(
    ("no", "not", "nor", "never", "none", "neither", "nothing", "nobody", "without", "cannot")
)

_ASKING = """
also could describe explain find get give help know like may mean might must please say tell want
would
"""
"""Words that are common in questions on any topic, and do not tell one from another."""

_STOP_WORDS = GRAMMAR_WORDS.union(_ASKING.split())


def stem_content(text: str) -> tuple[str, ...]:
    """Stem a text's content words, in order; "question" and "document" are content here."""
    return stem_content_words(text, _STOP_WORDS)


@lru_cache(2048)
def find_numbers_and_negations(text: str) -> tuple[str, ...]:
    """Find the numbers and negations of a text, sorted; texts that say the same have the same."""
    return tuple(
        sorted(word for word in split_words(text) if is_number(word) or _is_negation(word))
    )


def is_number(word: str) -> bool:
    """Tell whether a word has a digit: 1969, 3.5, 11th."""
    return not word.isalpha() and any(map(str.isdigit, word))


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
