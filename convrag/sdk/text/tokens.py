"""Tokens and words of texts of any script.

A token is a run of characters between white space and punctuation. It is one word or, as a
compound, several. Scripts without spaces are split into overlapping pieces of two or three
characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from convrag.sdk.text.characters import simplify_characters
from convrag.sdk.text.stems import drop_rests
from convrag.sdk.text.stop_words import WORDS_BY_LANGUAGE

_JOINED = re.compile(r"(?<=\w)[-.,](?=\w)")

_MARKS = (
    r"\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0eff"
    r"\u1000-\u109f\u1780-\u17ff"
)
"""Combining marks, and scripts with such vowels, which Python does not count as parts of a word."""

PLAIN_TOKEN = re.compile(r"\b\w\w+\b")

_BREAKS = r"\s;:!?¿¡()\[\]{}\"`/\\|*=<>~^“”„«»‹›…–—·•、。，！？：；（）「」『』【】《》〈〉・،؛؟।"

# Looks for the characters between tokens, which is faster than for those in them: _WORDS does that
# once for each different token.
_TOKEN = re.compile(rf"\.?[^{_BREAKS}.,]+(?:[.,][^{_BREAKS}.,]+)*")

_WORDS = re.compile(
    rf"(?:(?<!\S)\.(?=[^\W\d])|'(?=(?:s|ll|re|ve|d|m|t)(?![\w'])))?[\w{_MARKS}]+"
    rf"(?:(?:[-.'&]|,(?=\d\d\d(?!\d)))[\w{_MARKS}]+)*(?:\+\+|#(?!\w))?"
)

_SIGNS = re.compile(r"[-.&_+#]+")

_UNSPACED_CHARACTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff"
    "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)

_UNSPACED = re.compile(f"[{_UNSPACED_CHARACTERS}]+")

_ALPHABETS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_IDEOGRAPHS = (
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WIDE_MARKS = "\u3001-\u3003\u3008-\u301f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"

COUNTED_WORD = re.compile(
    rf"[{_WIDE_MARKS}]*(?:[{_IDEOGRAPHS}]{{1,2}}|[{_ALPHABETS}]{{1,4}})[{_WIDE_MARKS}]*"
    rf"|[^\s{_IDEOGRAPHS}{_ALPHABETS}]+"
)
"""A word where the length of a text is counted: the text between two spaces or, in a script without
spaces, two ideographs (Chinese, Japanese) or four letters (Thai, Lao, Burmese, Khmer).

Punctuation belongs to the word next to it.
"""


def count_words(text: str) -> int:
    """Count the words of a text of any script, for limits and lengths; see COUNTED_WORD.

    Example:
        >>> count_words("How far is the Moon?"), count_words("月亮有多远？")
        (5, 3)
    """
    return sum(1 for _ in COUNTED_WORD.finditer(text))


def take_words(text: str, most: int) -> str:
    """Take the first words of a text of any script, with the space between them.

    Example:
        >>> take_words("How far is the Moon?", 2), take_words("月亮有多远？", 2)
        ('How far', '月亮有多')
    """
    end = 0
    for word in islice(COUNTED_WORD.finditer(text), most):
        end = word.end()
    return text[:end]


UNSPACED = "\u0e00"
"""From this character on, scripts have no spaces between words, and a word is a piece of two or
three characters.
"""

_PAIRED = "\u2e80"
"""From this character on, words have about two characters; the scripts before are alphabets."""

_JOINING = re.compile(f"({'|'.join(sorted(WORDS_BY_LANGUAGE['chinese'], key=len, reverse=True))})")


def split_compounds(text: str) -> str:
    """Make each part of a compound a word: "state of the art" for "state-of-the-art"."""
    return _JOINED.sub(" ", text)


@lru_cache(2048)
def split_words(text: str) -> tuple[str, ...]:
    """Split a text into its words, in order, in lower case, with plain apostrophes.

    384,400 and Jean-Paul are one word each.
    """
    return tuple(word.lower() for word in find_whole_words(text))


def find_whole_words(text: str) -> Iterator[str]:
    """Find the words of a text, in order; a compound is one word."""
    for token in _TOKEN.findall(_prepare(text)):
        yield from _WORDS.findall(token)


def tokenize(text: str) -> list[str]:
    """Split a text into tokens in lower case."""
    return _TOKEN.findall(_prepare(text).lower())


def _prepare(text: str) -> str:
    """Make a text NFKC with plain apostrophes, without characters that are not seen.

    The pieces of runs without spaces are spaced out.
    """
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", simplify_characters(text)).replace("’", "'")
    return _UNSPACED.sub(_space_out, plain)


def _space_out(run: re.Match[str]) -> str:
    """Split a run of characters into overlapping pieces, with spaces around them."""
    size = 2 if run[0] >= _PAIRED else 3
    pieces = []
    for part in _JOINING.split(run[0]):  # at the words that only join or ask, which stay
        for start in range(max(1, len(part) - size + 1)):
            pieces.append(part[start : start + size])  # noqa: PERF401
    return f" {' '.join(pieces)} "


def divide(token: str, stop_words: frozenset[str]) -> Iterator[str]:
    """Yield the words of a token: each as it stands, and the parts of a compound."""
    for word in _WORDS.findall(token):
        if word in stop_words:
            continue
        for piece in drop_rests(word):
            whole = piece.replace(",", "").strip("_")
            parts = [part for part in _SIGNS.split(whole) if part]
            if whole in parts:
                yield whole
            elif parts:
                yield whole
                yield from (part for part in parts if len(part) > 1 or part.isdecimal())
