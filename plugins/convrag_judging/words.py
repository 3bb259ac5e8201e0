"""The length of an answer in words, and cutting to it. Citations are no words."""

from __future__ import annotations

import re

_CITATIONS = re.compile(r"\s*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\](?=(\w?))")


def answer_words(text: str) -> list[str]:
    """The words of an answer, separated by white space, without citations such as [1] or [2, 3]."""
    return _CITATIONS.sub(lambda found: " " if found[1] else "", text).split()


def cut(text: str, most: int | None) -> str:
    """The beginning of a text of at most so many words; a text that fits stays as it is."""
    words = answer_words(text)
    return text if most is None or len(words) <= most else " ".join(words[:most])
