"""A document that passages are cut from: its text, where its headings and pages begin, and parts of a corpus."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from convrag.api.types import Passage


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. Its line begins at `start`, a character of the document's text; `level` 1 is the highest."""

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its structure. A passage of it is a span of `text`.

    `id` is unique in its corpus: the path below the corpus's folder, with slashes ("policies/leave.md"). `headings` are
    in the order of the text. `pages` are the characters at which pages begin, the first at 0; it is empty where there
    are no pages. `page_name` is what a page is called: "page", or "slide" in a presentation.
    """

    id: str
    text: str
    title: str = ""
    url: str = ""
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()
    page_name: str = "page"
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def find_headings(self, position: int) -> tuple[Heading, ...]:
        """Return the headings that a character stands under, the highest first."""
        path: list[Heading] = []
        for heading in self.headings:
            if heading.start > position:
                break
            path = [above for above in path if above.level < heading.level]
            path.append(heading)
        return tuple(path)

    def find_page(self, position: int) -> int | None:
        """Return the number, from 1, of the page that a character is on; None where there are no pages."""
        return bisect_right(self.pages, position) or None


class CorpusPart(NamedTuple):
    """Some passages of a corpus, those of a document say, which are the same for as long as the key is.

    A copy of the corpus takes the passages of a known key from the copy before it, and reads the others. Parts with an
    empty key are always read.
    """

    key: str
    read: Callable[[], Iterable[Passage]]
