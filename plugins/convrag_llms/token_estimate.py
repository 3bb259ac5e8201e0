"""An estimate of how many tokens a text has, where no tokenizer is at hand."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\W\d_]+|[^\w\s]+|_+|\n+|[^\S\n]{2,}", re.UNICODE)
"""What tokenizers of the GPT family split a text into first; a single space belongs to the word after it."""

_LETTERS = 7
"""Latin letters to a token, within a word: of English words, most are one token, long ones two or three."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a token for up to 7 letters of a word, 3 digits, 2 signs, or 3 bytes of others."""
    return sum(map(_count, _PIECE.findall(text))) or int(bool(text))


def _count(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode(errors="replace")) // 3)
    if piece[0].isalpha():
        return -(-len(piece) // _LETTERS)
    if piece[0].isdigit():
        return -(-len(piece) // 3)
    return 1 if piece.isspace() else -(-len(piece) // 2)
