"""Passages cut from a document: their ids, their titles, and their place in it, for citations and
for people.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from convrag.api.documents import Document, Heading
from convrag.api.passages import Passage

__all__ = ["cut_passage", "cut_passages", "is_heading_alone"]

LONGEST_HEADING = 100
"""Characters of a heading that stand in the title and the place of a passage."""

_LONGEST_LINE = 1_000
"""Characters above which a heading's line is none."""


def cut_passage(document: Document, start: int, end: int, number: int) -> Passage:
    """Cut a span out of a document, as a passage that knows its place.

    Passage 3 of "policies/leave.md" has the id "policies/leave.md#3" and the text
    `document.text[start:end]`. Its title is the path of the headings that all of it stands under,
    "Leave > Parental leave", after the document's title where that is not the first of them;
    without headings, the document's title or else the name of its file. If it begins with a heading
    without text and its first subheading, it stands under both.

    Its metadata are `document` (the id), `start` and `end` (characters of the document's text),
    `headings` (texts) and `page` (from 1) where there are any, and `place`, for people:
    "policies/leave.md, 'Parental leave', page 3".

    Args:
        document: the document.
        start: the first character of the span.
        end: the character after its last one.
        number: of the passage in its document, from 1.
    """
    headings = _list_texts(document, start, end)
    page = document.find_page(start)
    place = [document.id, *(f"'{text}'" for text in headings[-1:])]
    metadata: dict[str, Any] = {"document": document.id, "start": start, "end": end}
    if headings:
        metadata["headings"] = headings
    if page is not None:
        metadata["page"] = page
        place.append(f"{document.page_name} {page}")
    metadata["place"] = ", ".join(place)
    title = _make_title(document, headings)
    return Passage(
        f"{document.id}#{number}", document.text[start:end], title, document.url, metadata
    )


def cut_passages(document: Document, spans: Iterable[tuple[int, int]]) -> Iterator[Passage]:
    """Cut a document into passages at its (start, end); numbered from 1."""
    for number, (start, end) in enumerate(spans, 1):
        yield cut_passage(document, start, end, number)


def is_heading_alone(text: str, start: int, end: int) -> bool:
    """Whether there is nothing but a heading's line in a span of a text, or its line underlined
    (=== or ---).
    """
    if end - start > _LONGEST_LINE:
        return False
    first, *others = text[start:end].strip().split("\n")
    return bool(first) and (not others or (len(others) == 1 and not others[0].strip("=- \r")))


def _list_texts(document: Document, start: int, end: int) -> list[str]:
    """List the texts of the headings that all of a span stands under; a heading within it may end
    earlier ones.
    """
    text = document.text
    first = bisect_right(document.headings, start, key=_get_start)
    last = bisect_left(document.headings, end, key=_get_start)
    under = list(document.find_headings(start))
    for heading in document.headings[first:last]:
        begun = under[-1] if under and under[-1].start >= start else None
        if (
            not begun
            or heading.level <= begun.level
            or not is_heading_alone(text, begun.start, heading.start)
        ):
            break
        under.append(heading)
        first += 1
    highest = min((heading.level for heading in document.headings[first:last]), default=None)
    under = [heading for heading in under if highest is None or heading.level < highest]
    return [text for heading in under if (text := _shorten(heading.text))]


def _make_title(document: Document, headings: Sequence[str]) -> str:
    title = _shorten(document.title)
    path = headings if not title or title in headings[:1] else [title, *headings]
    return " > ".join(path) or document.id.rpartition("/")[2]


def _shorten(text: str) -> str:
    """Put a heading into one line of at most LONGEST_HEADING characters."""
    line = " ".join(text[: 10 * LONGEST_HEADING].split())
    return line if len(line) <= LONGEST_HEADING else f"{line[: LONGEST_HEADING - 1].rstrip()}…"


def _get_start(heading: Heading) -> int:
    return heading.start
