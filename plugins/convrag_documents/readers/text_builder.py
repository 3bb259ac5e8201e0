"""Puts the text of a document together, and notes where its headings and pages begin."""

from collections.abc import Iterable
from dataclasses import replace

from convrag import Document
from convrag.sdk.types import Heading

_GAP = "\n\n"


class TextBuilder:
    """Collects the blocks of a document, between which it puts blank lines.

    Args:
        page_name: what a page is called: "page", "slide".
    """

    def __init__(self, page_name: str = "page") -> None:
        self.title = ""
        self._page_name = page_name
        self._blocks: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[int] = []

    def __bool__(self) -> bool:
        """Whether there is any text."""
        return bool(self._blocks)

    def add(self, block: str, headings: Iterable[Heading] = ()) -> None:
        """Add a paragraph, a list or a table; nothing where it is blank.

        Args:
            block: the text.
            headings: those within it, with their places in it.
        """
        stripped = block.lstrip()
        shift = self._next_start - (len(block) - len(stripped))
        block = stripped.rstrip()
        if not block:
            return
        self._headings.extend(replace(heading, start=heading.start + shift) for heading in headings)
        self._length = self._next_start + len(block)
        self._blocks.append(block)

    def add_heading(self, level: int, text: str) -> None:
        """Add a heading as a block of its own."""
        if line := " ".join(text.split()):
            self.add(line, [Heading(0, level, line)])

    def begin_page(self) -> None:
        """Begin a page. What was added before the first one belongs to it."""
        self._pages.append(self._next_start if self._pages else 0)

    def build(self) -> Document:
        """Make the document."""
        return Document(
            id="",
            text=_GAP.join(self._blocks),
            title=" ".join(self.title.split()),
            headings=tuple(self._headings),
            pages=tuple(min(start, self._length) for start in self._pages),
            page_name=self._page_name,
        )

    @property
    def _next_start(self) -> int:
        return self._length + len(_GAP) if self._blocks else 0
