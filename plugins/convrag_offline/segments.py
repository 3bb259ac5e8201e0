"""Sentences by their places, for texts that must be copied as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_LINE = re.compile(r"[^\r\n]+")
_SPACED_END = re.compile(r"(?<=\s[.!?])\s+(?=\S)")  # tokenised text: a mark that stands alone
_CLOSING = re.compile(r"(?:''|[”’])\s+(?=\S)")


def segments(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without white space around it. A line break ends a sentence, and so
    does a mark with space on both sides, as in tokenised text, even within quotes.
    """
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it keeps the text that it works on: one for each call
    found: list[tuple[int, int]] = []
    for line in (match for match in _LINE.finditer(text) if match[0].strip()):
        position = line.start()
        spans: list[tuple[int, int]] = []
        for part in (str(part).strip() for part in segmenter.segment(line[0])):
            start = text.find(part, position, line.end())
            if part and start >= 0:  # should the segmenter have changed it, there is no such place
                position = start + len(part)
                spans += _unspaced(text, start, position)
        found += _closed(text, spans)
    return found


def _unspaced(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut where a mark stands alone."""
    for gap in _SPACED_END.finditer(text, start, end):
        yield start, gap.start()
        start = gap.end()
    yield start, end


def _closed(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put a quotation mark that closes the sentence before back to it."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and (quote := _CLOSING.match(text, start, end)):
            found[-1] = found[-1][0], start + len(quote[0].rstrip())
            start = quote.end()
        found.append((start, end))
    return found
