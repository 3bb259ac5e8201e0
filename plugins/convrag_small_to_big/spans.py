"""Spans of a document around a passage: its section, and the sentences that fit around it."""

from collections.abc import Callable

from convrag import Document
from convrag.sdk.text.sentences import find_sentence_spans
from convrag_small_to_big.parts import Span

CHARACTERS_OF_A_TOKEN = 20
"""Characters of a long token; a text with more of them for each token is too long uncounted."""


def find_section(document: Document, own: Span) -> Span:
    """Find the section of a passage: from its lowest heading to the next one that is not lower.

    A passage that goes on behind this section is in the section of a higher heading. Without such a
    heading, its section is the document.
    """
    for heading in reversed(document.find_headings(own.start)):
        end = len(document.text)
        for later in document.headings:
            if later.start > heading.start and later.level <= heading.level:
                end = later.start
                break
        if own.end <= end:
            return _strip(document.text, Span(heading.start, end), own)
    return _strip(document.text, Span(0, len(document.text)), own)


def widen_by_sentences(
    text: str, own: Span, limits: Span, tokens: int, fits: Callable[[Span], bool]
) -> Span:
    """Widen a passage by the sentences after and before it, in turn, as long as they fit.

    Args:
        text: of the document.
        own: the span of the passage.
        limits: the span that is not left, with the passage in it.
        tokens: a number of tokens that no span may exceed; text farther away is not looked at.
        fits: whether a span may be shown.
    """
    reach = tokens * CHARACTERS_OF_A_TOKEN
    low = max(limits.start, own.start - reach)
    high = min(limits.end, own.end + reach)
    ends = [own.end + end for _, end in find_sentence_spans(text[own.end : high])]
    starts = [low + start for start, _ in find_sentence_spans(text[low : own.start])]
    span = own
    while ends or starts:
        if ends:
            longer = Span(span.start, ends.pop(0))
            if fits(longer):
                span = longer
            else:
                ends = []
        if starts:
            longer = Span(starts.pop(), span.end)
            if fits(longer):
                span = longer
            else:
                starts = []
    return span


def _strip(text: str, span: Span, own: Span) -> Span:
    """Leave out the white space at both ends of a span, but nothing of the passage."""
    inner = text[span.start : span.end]
    start = span.start + len(inner) - len(inner.lstrip())
    end = span.end - (len(inner) - len(inner.rstrip()))
    return Span(min(start, own.start), max(end, own.end))
