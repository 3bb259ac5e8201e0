"""English text becomes sentences, as places in it or as texts (pysbd)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_CITATION = re.compile(r"[^\S\n]*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]")
_LINE = re.compile(r"[^\r\n]+")
_SPACED_END = re.compile(r"(?<=\s[.!?])\s+(?=\S)")  # tokenised text: a mark that stands alone
_CLOSING = re.compile(r"(?:''|[”’])\s+(?=\S)")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence in order, without white space around it.

    A line break ends a sentence, and so does a mark with space on both sides, as in tokenised text, even within quotes.
    What has no letter (the number of a list's item) belongs to what follows.
    """
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it keeps the text that it works on: one for each call
    spans: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        if line[0].strip():
            found = _in_line(text, line.start(), line.end(), [str(part) for part in segmenter.segment(line[0])])
            cut = (part for span in found for part in _unspaced(text, *span))
            spans += _with_letters(text, _closed(text, cut))
    return spans


def first_sentence(text: str) -> str:
    """The first sentence of a text, or nothing."""
    return next((text[start:end] for start, end in sentence_spans(text)), "")


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order, each on one line; numbers in square brackets, which would look like citations
    of ours, are left out. A line break ends a sentence: it stands behind titles and the items of lists.
    """
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it keeps the text that it works on: one for each call
    lines = (" ".join(line.split()) for line in without_citations(text).splitlines())
    return tuple(stripped for line in lines if line for part in segmenter.segment(line) if (stripped := part.strip()))


def without_citations(text: str) -> str:
    """A text without numbers in square brackets."""
    return _CITATION.sub("", text)


def _in_line(text: str, start: int, end: int, parts: list[str]) -> Iterator[tuple[int, int]]:
    """Find the parts of a line again; should the segmenter have changed one, it and what follows are one sentence."""
    position = start
    for part in parts:
        found = text.find(part.strip(), position, end)
        if found < 0:
            break
        if part.strip():
            yield found, found + len(part.strip())
            position = found + len(part.strip())
    if rest := text[position:end].strip():
        found = text.index(rest, position)
        yield found, found + len(rest)


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


def _with_letters(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join each span without a letter to the next."""
    first: int | None = None
    for start, end in spans:
        if any(character.isalpha() for character in text[start:end]):
            yield start if first is None else first, end
            first = None
        elif first is None:
            first = start
    if first is not None:
        yield first, spans[-1][1]
