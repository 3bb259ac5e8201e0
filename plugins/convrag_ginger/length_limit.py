"""How long an answer may be, and how texts are counted and joined. Citations are not counted as
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from convrag.sdk.text.analysis import GRAMMAR_WORDS, split_words, stem_content_words

WORDS_ONLY = 100
"""The limit in sentences that stands for a limit in words alone (GINGER's convention)."""

_MOST_WORDS = 400
_CITATIONS = (
    r"\s*(?:\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]\s*)+"  # one or more, with the white space around them
)
# Inline code is matched first and left alone, as in convrag.sdk.text.citations: `items[0]` holds no
# citation.
_CODE_OR_CITATIONS = re.compile(rf"`[^`\n]*`|(?P<citations>{_CITATIONS})")


class LengthLimit(NamedTuple):
    """The most sentences and words of an answer."""

    sentences: int
    words: int

    @classmethod
    def of(cls, limit: int, words: int) -> LengthLimit:
        """`limit` sentences of `words` words on average; a limit of 100 is 400 words, in any number
        of sentences.
        """
        return cls(limit, _MOST_WORDS if limit == WORDS_ONLY else limit * words)


def count_words(sentences: Iterable[str]) -> int:
    """The number of words, separated by white space."""
    return sum(len(_remove_citations(sentence, " ").split()) for sentence in sentences)


def join_sentences(sentences: Iterable[str]) -> str:
    """Sentences as one text, separated by spaces; by a line break after one without an end mark, as
    in a list.
    """
    text = ""
    for sentence in sentences:
        before = _remove_citations(text, "").rstrip("\"'”’) ")
        text += (
            "" if not text else " " if before.endswith((".", "!", "?", "…", "。")) else "\n"
        ) + sentence
    return text


def _remove_citations(text: str, replacement: str) -> str:
    """A text with a replacement for its citations and the white space around them."""
    return _CODE_OR_CITATIONS.sub(
        lambda match: replacement if match["citations"] else match[0], text
    )


_NEGATIONS = frozenset(
    ("no", "not", "nor", "never", "none", "neither", "nothing", "nobody", "without", "cannot")
)
# common in questions on any topic, so they do not tell one topic from another
_ASKING = """
also could describe explain find get give help know like may mean might must please say tell want
would
"""
_STOP_WORDS = GRAMMAR_WORDS.union(_ASKING.split())


def stem_content(text: str) -> tuple[str, ...]:
    """The stems of a text's content words, in order; "question" and "document" are content here."""
    return stem_content_words(text, _STOP_WORDS)


@lru_cache(2048)
def find_numbers_and_negations(text: str) -> tuple[str, ...]:
    """Find the numbers and negations of a text, sorted; texts that say the same have the same."""
    return tuple(
        sorted(word for word in split_words(text) if is_number(word) or _is_negation(word))
    )


def is_number(word: str) -> bool:
    """Whether a word has a digit: 1969, 3.5, 11th."""
    return not word.isalpha() and any(map(str.isdigit, word))


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
