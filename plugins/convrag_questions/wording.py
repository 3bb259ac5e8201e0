"""Comparisons of texts by their words: what is quoted, what is copied, what was asked before."""

import re
import unicodedata

MOST_COPIED = 6
"""The most words in a row that a question may share with its passage: a name and what goes with it."""

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")


def list_words(text: str) -> list[str]:
    """The words of a text, without case, accents of typing and punctuation; each sign of a script without spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word for found in _WORD.findall(plain) for word in (found if _is_unspaced(found) else [found])]


def has_quote(text: str, quote: str) -> bool:
    """Whether a text has the words of a quote, in a row."""
    wanted = list_words(quote)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(list_words(text))} "


def count_copied_words(question: str, passage: str) -> int:
    """The most words in a row that a question shares with a passage."""
    asked, text = list_words(question), f" {' '.join(list_words(passage))} "
    longest = 0
    for start in range(len(asked)):
        while start + longest < len(asked) and f" {' '.join(asked[start : start + longest + 1])} " in text:
            longest += 1
    return longest


def are_alike(one: str, other: str) -> bool:
    """Whether two texts have the same words, in the same order."""
    return list_words(one) == list_words(other)


def _is_unspaced(word: str) -> bool:
    """Whether a word is of a script that writes no spaces between words (Chinese, Japanese, Thai)."""
    return any(
        "\u3040" <= sign <= "\u30ff" or "\u4e00" <= sign <= "\u9fff" or "\u0e00" <= sign <= "\u0e7f" for sign in word
    )
