"""Passages cut from a document, with their ids, their titles, and their places in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from convrag.api.documents import Document, Heading
from convrag.api.passages import Passage

__all__ = ["cut_passage", "cut_passages", "is_heading_alone"]

LONGEST_HEADING = 100
"""Characters of a heading that the title and the place of a passage contain."""

_LONGEST_LINE = 1_000
"""Characters of a line that may be a heading."""


def cut_passage(document: Document, start: int, end: int, number: int) -> Passage:
    """Cut a span out of a document, as a passage that knows its place.

    Passage 3 of "policies/leave.md" has the id "policies/leave.md#3" and the text
    `document.text[start:end]`.

    Its title is the path of the headings above all of it, "Leave > Parental leave", after the
    document's title if that is not the first of them. Without headings, it is the document's title,
    or the name of its file. A passage that begins with a heading without text and its first
    subheading is below both.

    Its metadata are those of the document, such as `fields`, and `document` (the id), `start` and
    `end` (characters of the document's text), `headings` (texts) and `page` (from 1) where there
    are any, and `place`, for people: "policies/leave.md, 'Parental leave', page 3".

    Args:
        document: the document.
        start: the first character of the span.
        end: the character after its last one.
        number: of the passage in its document, from 1.
    """
    headings = _list_texts(document, start, end)
    page = document.find_page(start)
    place = [document.id]
    metadata: dict[str, Any] = {
        **document.metadata,
        "document": document.id,
        "start": start,
        "end": end,
    }
    if headings:
        metadata["headings"] = headings
        place.append(f"'{headings[-1]}'")
    if page is not None:
        metadata["page"] = page
        place.append(f"{document.page_name} {page}")
    metadata["place"] = ", ".join(place)
    title = _make_title(document, headings)
    return Passage(
        f"{document.id}#{number}", document.text[start:end], title, document.url, metadata
    )


def cut_passages(document: Document, spans: Iterable[tuple[int, int]]) -> Iterator[Passage]:
    """Cut spans, each (start, end), out of a document, as passages numbered from 1."""
    for number, (start, end) in enumerate(spans, 1):
        yield cut_passage(document, start, end, number)


def is_heading_alone(text: str, start: int, end: int) -> bool:
    """Whether a span of a text is a heading alone, which may be underlined (=== or ---)."""
    if end - start > _LONGEST_LINE:
        return False
    heading, *others = text[start:end].strip().split("\n")
    if not others:
        return heading != ""
    return len(others) == 1 and others[0].strip("=- \r") == ""


def _list_texts(document: Document, start: int, end: int) -> list[str]:
    """List the texts of the headings above all of a span."""
    first = bisect_right(document.headings, start, key=_get_start)
    last = bisect_left(document.headings, end, key=_get_start)
    within = document.headings[first:last]
    above = list(document.find_headings(start))
    leading = _count_leading_headings(document.text, start, above, within)
    above += within[:leading]
    later_levels = [heading.level for heading in within[leading:]]
    if later_levels:  # a heading within the span ends those above it that are not higher
        highest = min(later_levels)
        above = [heading for heading in above if heading.level < highest]
    texts = [_shorten(heading.text) for heading in above]
    return [text for text in texts if text]


def _count_leading_headings(
    text: str, start: int, above: Sequence[Heading], within: Sequence[Heading]
) -> int:
    """Count the headings within a span that all text of the span is below.

    They follow the heading at the beginning of the span, without text between them, each one lower
    than the one before.
    """
    last = above[-1] if above else None
    if last is None or last.start < start:
        return 0
    for number, heading in enumerate(within):
        is_lower = heading.level > last.level
        if not is_lower or not is_heading_alone(text, last.start, heading.start):
            return number
        last = heading
    return len(within)


def _make_title(document: Document, headings: Sequence[str]) -> str:
    title = _shorten(document.title)
    path = list(headings)
    if title and title not in headings[:1]:
        path.insert(0, title)
    file_name = document.id.rpartition("/")[2]
    return " > ".join(path) or file_name


def _shorten(text: str) -> str:
    """Put a heading into one line of at most LONGEST_HEADING characters."""
    line = " ".join(text[: 10 * LONGEST_HEADING].split())
    if len(line) <= LONGEST_HEADING:
        return line
    return f"{line[: LONGEST_HEADING - 1].rstrip()}…"


def _get_start(heading: Heading) -> int:
    return heading.start
