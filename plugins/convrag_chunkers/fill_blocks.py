"""Passages of whole blocks: paragraphs, lists, tables and code that stay together where they fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from convrag_chunkers.blocks import Block, find_blocks
from convrag_chunkers.token_spans import count_tokens, cut_lines, trim_span


class _Piece(NamedTuple):
    """A span to put into a passage, its tokens, and its block, if it is a whole one."""

    start: int
    end: int
    tokens: int
    block: Block | None = None


def fill_blocks(text: str, start: int, end: int, tokens: int, smallest: int) -> Iterator[tuple[int, int]]:
    """Yield spans of at most so many tokens, cut between blocks where that can be.

    Args:
        text: the text.
        start: the first character to read.
        end: the character after the last one.
        tokens: the most that a span has.
        smallest: a span with fewer tokens is filled with a part of the next block, if all of it does not fit.
    """
    held: _Piece | None = None
    for block in find_blocks(text, start, end):
        pieces = [*_make_pieces(text, [(block.start, block.end)], block)]
        while pieces:
            piece = pieces.pop()
            room = tokens - (held.tokens if held else 0)
            if piece.tokens <= room:
                held = _Piece(held.start if held else piece.start, piece.end, tokens - room + piece.tokens)
            elif piece.block and (piece.tokens > tokens or tokens - room < smallest):
                pieces += reversed([*_make_pieces(text, piece.block.find_parts(text))])
            elif piece.tokens > tokens:
                pieces += reversed([*_make_pieces(text, cut_lines(text, piece.start, piece.end, tokens))])
            else:
                assert held is not None
                yield held.start, held.end
                held = piece._replace(block=None)
    if held is not None:
        yield held.start, held.end


def _make_pieces(text: str, spans: Iterable[tuple[int, int]], block: Block | None = None) -> Iterator[_Piece]:
    """Yield the pieces at these spans, without white space around them."""
    for span in spans:
        start, end = trim_span(text, *span)
        yield _Piece(start, end, count_tokens(text, start, end), block)
