"""Tokens and words of texts of any script.

A token is what stands between white space and punctuation; it has one word or, as a compound,
several parts. Scripts without spaces are split into overlapping pieces of two or three characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from convrag.sdk.text.stems import drop_rests
from convrag.sdk.text.stop_words import WORDS_BY_LANGUAGE

_JOINED = re.compile(r"(?<=\w)[-.,](?=\w)")

_MARKS = (
    r"\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0eff"
    r"\u1000-\u109f\u1780-\u17ff"
)
"""Combining marks, and scripts whose vowels are such: to Python they are no part of a word."""

PLAIN_TOKEN = re.compile(r"\b\w\w+\b")

_BREAKS = r"\s;:!?¿¡()\[\]{}\"`/\\|*=<>~^“”„«»‹›…–—·•、。，！？：；（）「」『』【】《》〈〉・،؛؟।"

# Found by what stands between tokens: faster than by what is in them, which _WORDS then tells of
# each token once.
_TOKEN = re.compile(rf"\.?[^{_BREAKS}.,]+(?:[.,][^{_BREAKS}.,]+)*")

_WORDS = re.compile(
    rf"(?:(?<!\S)\.(?=[^\W\d])|'(?=(?:s|ll|re|ve|d|m|t)(?![\w'])))?[\w{_MARKS}]+"
    rf"(?:(?:[-.'&]|,(?=\d\d\d(?!\d)))[\w{_MARKS}]+)*(?:\+\+|#(?!\w))?"
)

_SIGNS = re.compile(r"[-.&_+#]+")

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)

UNSPACED = "\u0e00"
"""From this character on, scripts have no spaces between words, and a word is a piece of two or
three characters.
"""

_PAIRED = "\u2e80"
"""From this character on, words have about two characters; the scripts before are alphabets."""

_JOINING = re.compile(f"({'|'.join(sorted(WORDS_BY_LANGUAGE['chinese'], key=len, reverse=True))})")


def split_compounds(text: str) -> str:
    """A text in which each part of a compound or a number is a word: "state of the art" for
    "state-of-the-art".
    """
    return _JOINED.sub(" ", text)


@lru_cache(2048)
def split_words(text: str) -> tuple[str, ...]:
    """All words of a text, in order, in lower case, with plain apostrophes; 384,400 and Jean-Paul
    are one word each.
    """
    return tuple(word.lower() for word in find_whole_words(text))


def find_whole_words(text: str) -> Iterator[str]:
    return (word for token in _TOKEN.findall(_normalise(text)) for word in _WORDS.findall(token))


def tokenize(text: str) -> list[str]:
    return _TOKEN.findall(_normalise(text).lower())


def _normalise(text: str) -> str:
    """A text in Unicode's NFKC, with plain apostrophes, and the pieces of runs without spaces
    apart.
    """
    if text.isascii():
        return text
    return _UNSPACED.sub(_space_out, unicodedata.normalize("NFKC", text).replace("’", "'"))


def _space_out(run: re.Match[str]) -> str:
    """The overlapping pieces of a run of characters, with spaces around them."""
    size = 2 if run[0] >= _PAIRED else 3
    parts = _JOINING.split(run[0])  # between the words that only join or ask, which stay
    pieces = (
        part[start : start + size]
        for part in parts
        for start in range(max(1, len(part) - size + 1))
    )
    return f" {' '.join(pieces)} "


def divide(token: str, stop_words: frozenset[str]) -> Iterator[str]:
    """Yield the words of a token: each as it stands, and the parts of a compound."""
    for word in _WORDS.findall(token):
        for piece in drop_rests(word) if word not in stop_words else ():
            whole = piece.replace(",", "").strip("_")
            parts = [part for part in _SIGNS.split(whole) if part]
            if whole in parts:
                yield whole
            elif parts:
                yield from (whole, *(part for part in parts if len(part) > 1 or part.isdecimal()))
