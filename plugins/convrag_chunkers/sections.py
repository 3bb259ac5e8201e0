"""The sections of a document, from one heading to the next, and which of them are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from convrag import Document
from convrag.sdk.document_passages import is_heading_alone
from convrag_chunkers.token_spans import count_tokens, trim_span


class Section(NamedTuple):
    """One or more sections in a row, as a span without white space around it.

    `level` is the level of the highest heading in it, 0 for what stands before the first heading. `open_level` is the
    level of the heading without text that it ends with, or None.
    """

    start: int
    end: int
    tokens: int
    level: int
    open_level: int | None = None


def list_sections(document: Document) -> Iterator[Section]:
    """Yield the sections in order, without blank ones. A heading without text is joined to its first subsection."""

    def belongs(held: Section, section: Section) -> bool:
        return held.open_level is not None and section.level > held.open_level

    return _join_where(_split_at_headings(document), belongs)


def join_sections(sections: Iterable[Section], smallest: int) -> Iterator[Section]:
    """Join sections of fewer tokens than `smallest` in a row until they have so many together.

    A section whose heading stands above the headings of the sections before it begins another row.
    """

    def belongs(held: Section, section: Section) -> bool:
        return held.tokens < smallest > section.tokens and section.level >= held.level

    return _join_where(sections, belongs)


def _join_where(sections: Iterable[Section], belongs: Callable[[Section, Section], bool]) -> Iterator[Section]:
    """Join each section to those before it, as far as these have been joined, where it belongs to them."""
    held: Section | None = None
    for section in sections:
        if held is not None and belongs(held, section):
            held = _join(held, section)
            continue
        if held is not None:
            yield held
        held = section
    if held is not None:
        yield held


def _split_at_headings(document: Document) -> Iterator[Section]:
    text = document.text
    levels = {heading.start: heading.level for heading in document.headings if 0 <= heading.start < len(text)}
    starts = sorted({0, *levels})
    for first, last in zip(starts, [*starts[1:], len(text)], strict=True):
        start, end = trim_span(text, first, last)
        if start < end:
            level = levels.get(first, 0)
            alone = first in levels and is_heading_alone(text, start, end)
            yield Section(start, end, count_tokens(text, start, end), level, level if alone else None)


def _join(one: Section, other: Section) -> Section:
    return Section(one.start, other.end, one.tokens + other.tokens, min(one.level, other.level), other.open_level)
