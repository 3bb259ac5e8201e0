"""The number of words of a text, for stages without a language model."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\w+|[^\w\s]")


def count_tokens(text: str) -> int:
    """The number of words and punctuation marks of a text."""
    return sum(1 for _ in _TOKEN.finditer(text))
