"""The bookmarks of a PDF as headings: each names a page, and often a place on it."""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag import Document
from convrag.sdk.types import Heading
from convrag_documents.readers.pdf_lines import PageView, Place
from convrag_documents.readers.pdf_text import PageText, clean_text

if TYPE_CHECKING:
    from pypdf import PdfReader

log = logging.getLogger(__name__)

_HEADING_NUMBER = r"(?:[^\n]{0,8}\d[\d.):]*[^\S\n]+)?"
"""The number before the words of a heading: "12.3.4 ", "Part 2: "."""

_HEADING_WORDS = 20
"""Words of a bookmark that are looked for on its page."""

# Bounds for damaged and hostile files
_SEARCHED = 100_000
_MOST_MATCHES = 100

# How far from the place that a bookmark names its title may be: chapters begin with white space
_ABOVE = 15.0
_BELOW = 250.0

_NEAR = (-2, 12)
"""Lines of the same column begin within so many letters' sizes of the place, to the right."""

_LINES_BELOW = 5
"""The line of the same column is taken if it is at most so many letters' sizes farther below."""


class Bookmark(NamedTuple):
    """A bookmark.

    Args:
        level: from 1.
        title: the title.
        page: from 0.
        place: on the page as a reader sees it; None where it names the page alone.
    """

    level: int
    title: str
    page: int
    place: Place | None


def find_headings(
    document: Document, reader: PdfReader, pages: Sequence[PageText]
) -> tuple[Heading, ...]:
    """Find the headings of the bookmarks, in the order of the text.

    Args:
        document: the text of all pages.
        reader: the file.
        pages: the texts of the pages.
    """
    headings: list[Heading] = []
    last: dict[int, int] = {}
    for bookmark in _list_bookmarks(reader):
        page = bookmark.page
        within = _find_on_page(bookmark, pages[page], last.get(page, -1))
        if within is None:
            start = _find_next_page(document, page)
        else:
            last[page] = within
            start = document.pages[page] + within
        headings.append(Heading(min(start, len(document.text)), bookmark.level, bookmark.title))
    headings.sort(key=lambda heading: heading.start)  # equal ones stay in the order of the outline
    return tuple(headings)


def _find_next_page(document: Document, page: int) -> int:
    """Return the beginning of the page after a page, or of its last part where it is the last."""
    if page + 1 < len(document.pages):
        return document.pages[page + 1]
    return max(document.pages[page], document.text.rfind("\n") + 1)


def _find_on_page(bookmark: Bookmark, page: PageText, last: int) -> int | None:
    """Find where the section of a bookmark begins in the text of its page.

    Args:
        bookmark: on this page.
        page: the text.
        last: where the section of the bookmark before begins; -1 where it is on another page.

    Returns:
        The character; None where the section begins after the page's text.
    """
    if bookmark.place is None or not _has_places(page):
        return _find_title(bookmark.title, page, last)
    near = _find_title_near(bookmark.title, page, bookmark.place)
    return _find_line(page, bookmark.place) if near is None else near


def _has_places(page: PageText) -> bool:
    return any(line.place is not None for _, line in page.starts)


def _find_title(title: str, page: PageText, last: int) -> int:
    """Find a title after the section before, else anywhere on the page, else with that section."""
    found = [start for pattern in _make_patterns(title) for start in _search(pattern, page)]
    later = [start for start in found if start > last]
    return (later or found or [max(last, 0)])[0]


def _find_title_near(title: str, page: PageText, place: Place) -> int | None:
    """Find the line that begins with a title and is nearest to a place; None where none is near."""
    distances = []
    for start in _search(_make_patterns(title)[0], page):
        y = _find_height(page, start)
        if y is not None and place.y - _BELOW <= y <= place.y + _ABOVE:
            distances.append((abs(place.y - y), start))
    return min(distances)[1] if distances else None


def _find_height(page: PageText, start: int) -> float | None:
    """Return the height of the line that a character belongs to."""
    number = bisect_right(page.starts, start, key=lambda each: each[0]) - 1
    line = page.starts[max(number, 0)][1]
    return None if line.place is None or line.is_field else line.place.y


def _find_line(page: PageText, place: Place) -> int | None:
    """Find the line at a place, or the next one below it; None where there is none.

    A line of the same column comes first.
    """
    below = []
    for start, line in page.starts:
        if line.place is None or line.is_field or not line.upright:
            continue
        down = (place.y - line.place.y) / line.size
        right = (line.place.x - place.x) / line.size
        if down >= -0.1:
            below.append((down, start, _NEAR[0] <= right <= _NEAR[1]))
    if not below:
        return None
    nearest = min(below)
    in_column = [each for each in below if each[2] and each[0] - nearest[0] <= _LINES_BELOW]
    return min(in_column or [nearest])[1]


def _make_patterns(title: str) -> list[str]:
    """Make patterns of a title: at the beginning of a line, after a number, and anywhere."""
    words = r"\s+".join(re.escape(word) for word in title.split()[:_HEADING_WORDS])
    return [f"^{_HEADING_NUMBER}{words}", words]


def _search(pattern: str, page: PageText) -> Iterator[int]:
    text = page.text[:_SEARCHED]
    matches = re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE)
    for found in islice(matches, _MOST_MATCHES):
        yield found.start()


def _list_bookmarks(reader: PdfReader) -> Iterator[Bookmark]:
    """Yield the bookmarks in the order of the outline; one that is damaged is left out."""
    try:
        outline = reader.outline
    except Exception as error:  # the text is of more use than its bookmarks
        log.debug("bookmarks cannot be read", exc_info=error)
        return
    waiting: list[tuple[int, Any]] = [(1, item) for item in reversed(outline)]
    while waiting:
        level, item = waiting.pop()
        if isinstance(item, list):
            waiting += [(level + 1, each) for each in reversed(item)]
            continue
        try:
            bookmark = _read_bookmark(reader, item, level)
        except Exception as error:
            log.debug("a bookmark cannot be read", exc_info=error)
            continue
        if bookmark:
            yield bookmark


def _read_bookmark(reader: PdfReader, item: Any, level: int) -> Bookmark | None:
    """Read a bookmark; None where it has no title, or names no page."""
    number = reader.get_destination_page_number(item)
    title = " ".join(clean_text(str(item.title or "")).split())
    if number is None or not 0 <= number < len(reader.pages) or not title:
        return None
    top = _read_number(item.top)
    left = _read_number(item.left)
    view = PageView(reader.pages[number])
    height = left if view.is_turned else top
    place = None if height is None else view.place(left or 0.0, top or 0.0)
    return Bookmark(level, title, number, place)


def _read_number(value: Any) -> float | None:
    """Return a coordinate; None where the bookmark has none."""
    return float(value) if isinstance(value, int | float) else None
