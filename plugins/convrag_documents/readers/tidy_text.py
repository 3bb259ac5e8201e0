"""The text of a document without what is not seen in it, with its places as they are then.

Soft hyphens and spaces without width are removed, so that a word is one word; ligatures become
letters ("ﬁ" is "fi"). A reader may replace more.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from convrag import Document
from convrag.sdk.text.characters import find_invisible, remove_invisible

_LIGATURES = {
    "ﬀ": "ff",
    "ﬁ": "fi",
    "ﬂ": "fl",
    "ﬃ": "ffi",
    "ﬄ": "ffl",
    "ﬅ": "st",
    "ﬆ": "st",
}
_LIGATURE = re.compile(f"[{''.join(_LIGATURES)}]")


class Edit(NamedTuple):
    """A span of a text, and the text that replaces it.

    Args:
        start: the first character.
        end: the character after the last one.
        text: the new text.
    """

    start: int
    end: int
    text: str


def tidy_document(document: Document) -> Document:
    """Remove the characters that are not seen, and write ligatures as letters."""
    edits = [Edit(*span, "") for span in find_invisible(document.text)]
    for found in _LIGATURE.finditer(document.text):
        edits.append(Edit(*found.span(), _LIGATURES[found[0]]))  # noqa: PERF401
    edited = edit_document(document, edits)
    headings = tuple(replace(heading, text=_tidy_line(heading.text)) for heading in edited.headings)
    return replace(edited, title=_tidy_line(edited.title), headings=headings)


def edit_document(document: Document, edits: Iterable[Edit]) -> Document:
    """Replace spans of the text, and move the places of headings and pages with it.

    Args:
        document: the document.
        edits: they do not overlap. A heading that begins within one begins after its new text.
    """
    ordered = sorted(edits)
    if not ordered:
        return document
    pieces = []
    kept_to = 0
    for edit in ordered:
        pieces += [document.text[kept_to : edit.start], edit.text]
        kept_to = edit.end
    pieces.append(document.text[kept_to:])
    ends = [edit.end for edit in ordered]
    shifts = list(accumulate(len(edit.text) - (edit.end - edit.start) for edit in ordered))

    def move(place: int) -> int:
        before = bisect_right(ends, place)
        is_within = before < len(ordered) and ordered[before].start < place
        if is_within:
            return ends[before] + shifts[before]
        return place + shifts[before - 1] if before else place

    return replace(
        document,
        text="".join(pieces),
        headings=tuple(replace(each, start=move(each.start)) for each in document.headings),
        pages=tuple(move(page) for page in document.pages),
    )


def _tidy_line(line: str) -> str:
    spelled = _LIGATURE.sub(lambda found: _LIGATURES[found[0]], remove_invisible(line))
    return " ".join(spelled.split())
