"""Documents that passages are cut from, with their headings and pages, and parts of a corpus."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from convrag.api.passages import Passage


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document.

    Args:
        start: the character of the document's text at which its line begins, from 0.
        level: the level; 1 is the highest.
        text: the heading without its marks.

    Example:
        >>> Heading(0, 1, "Leave").level
        1
    """

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    r"""A text with its structure. A passage of it is a span of `text`.

    Args:
        id: unique in its corpus: the path below the corpus's folder, with slashes
            ("policies/leave.md").
        text: the whole text.
        title: the title; may be empty.
        url: where a reader finds it; may be empty.
        headings: the headings in the order of the text.
        pages: the characters at which pages begin, the first at 0; empty if there are no pages.
        page_name: the word for a page: "page", or "slide" in a presentation.
        metadata: plain data, which its passages get too.

    Example:
        >>> heading = Heading(0, 1, "Leave")
        >>> text = "# Leave\nAsk in time."
        >>> document = Document("leave.md", text, headings=(heading,), pages=(0,))
        >>> document.find_headings(10)[0].text, document.find_page(10)
        ('Leave', 1)
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
        """Return the headings above a character, the highest first."""
        path: list[Heading] = []
        for place in range(bisect_right(self.headings, position, key=attrgetter("start")), 0, -1):
            heading = self.headings[place - 1]
            if not path or heading.level < path[-1].level:
                path.append(heading)
            if heading.level <= 1:
                break
        return tuple(reversed(path))

    def find_page(self, position: int) -> int | None:
        """Return the number of a character's page, from 1; None if there are no pages."""
        return bisect_right(self.pages, position) or None


class CorpusPart(NamedTuple):
    """Some passages of a corpus, such as a document's; they are the same as long as the key is.

    Args:
        key: a hash. A copy of the corpus takes the passages of a known key from the copy before it,
            and reads the others. Parts with an empty key are always read.
        read: reads the passages.

    Example:
        >>> part = CorpusPart("leave.md 8f3a", lambda: [Passage("leave.md#1", "Ask in time.")])
        >>> [passage.id for passage in part.read()]
        ['leave.md#1']
    """

    key: str
    read: Callable[[], Iterable[Passage]]
