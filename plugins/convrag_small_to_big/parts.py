"""Spans of one document that overlap, divided so that no text is shown twice."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple


class Span(NamedTuple):
    """Characters of a document's text: the first one, and the one after the last."""

    start: int
    end: int


@dataclass(frozen=True)
class Part:
    """What is shown of a document for one of its passages.

    Args:
        id: the id of the passage.
        own: the span of the passage itself.
        shown: the span that is shown for it, which contains its own.
    """

    id: str
    own: Span
    shown: Span


def divide_spans(parts: Iterable[Part]) -> list[Part]:
    """Divide overlapping spans among their passages, in the order of the document.

    All that is in one of the spans is shown once. Text between two passages belongs to the first of
    them as far as its span reaches, else to the second. Where passages overlap, the second begins
    after the first; one that lies within another one is dropped.

    Args:
        parts: of one document, each with all that should be shown for its passage.

    Example:
        >>> one, two = Part("1", Span(0, 4), Span(0, 6)), Part("2", Span(8, 9), Span(3, 12))
        >>> [part.shown for part in divide_spans([two, one])]
        [Span(start=0, end=6), Span(start=6, end=12)]
    """
    divided: list[Part] = []
    for block in _group_overlapping(parts):
        divided += _divide_block(block)
    return divided


def _group_overlapping(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Group the parts whose spans overlap, in the order of the document."""
    block: list[Part] = []
    block_end = 0
    for part in sorted(parts, key=lambda each: each.shown):
        if block and part.shown.start >= block_end:
            yield block
            block = []
        block.append(part)
        block_end = max(block_end, part.shown.end) if len(block) > 1 else part.shown.end
    if block:
        yield block


def _divide_block(block: Sequence[Part]) -> list[Part]:
    """Divide the union of overlapping spans among the passages in it."""
    start = min(part.shown.start for part in block)
    end = max(part.shown.end for part in block)
    outermost: list[Part] = []
    for part in sorted(block, key=lambda each: (each.own.start, -each.own.end)):
        is_within = bool(outermost) and part.own.end <= outermost[-1].own.end
        if not is_within:
            outermost.append(part)
    divided: list[Part] = []
    for part, following in zip(outermost, [*outermost[1:], None], strict=True):
        border = end
        if following is not None:
            reach = min(part.shown.end, following.own.start)
            border = max(part.own.end, reach)
        divided.append(replace(part, shown=Span(start, border)))
        start = border
    return divided
