"""An estimate of a text's tokens, for servers whose tokenizer is not known."""

import re

_TOKEN_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\W\d_]+|[^\w\s]+|_+|\n+|[^\S\n]{2,}", re.UNICODE)
"""The pieces into which tokenizers of the GPT family split a text first.

A single space belongs to the word after it.
"""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text; at least 1 unless it is empty.

    A token is up to 7 letters of a word, 3 digits, 2 signs, or 3 bytes of other scripts.
    """
    estimate = sum(_count_tokens(piece) for piece in _TOKEN_PIECE.findall(text))
    if text:
        return max(1, estimate)
    return 0


def _count_tokens(piece: str) -> int:
    if not piece.isascii():
        return _divide_up(len(piece.encode(errors="replace")), 3)
    if piece[0].isalpha():
        return _divide_up(len(piece), 7)  # most English words are one token, long ones two or three
    if piece[0].isdigit():
        return _divide_up(len(piece), 3)
    if piece.isspace():
        return 1
    return _divide_up(len(piece), 2)


def _divide_up(count: int, by: int) -> int:
    """Divide, and round up."""
    return -(-count // by)
