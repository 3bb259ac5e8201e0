"""The content words of a text, as stems that are equal for the forms of a word."""

from __future__ import annotations

import re

from convrag.sdk.stemming import stem_words
from convrag.sdk.stop_words import is_stop_word

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def stem_content_words(text: str) -> list[str]:
    """The different stems of a text's content words, in order."""
    words = (match[0].lower().replace("’", "'").removesuffix("'s") for match in _WORD.finditer(text))
    return list(dict.fromkeys(stem_words([word for word in words if len(word) > 1 and not is_stop_word(word)])))
