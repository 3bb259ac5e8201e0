"""The text of a document, put together block by block, with its headings and pages."""

from collections.abc import Iterable
from dataclasses import replace

from convrag import Document
from convrag.sdk.types import Heading

_GAP = "\n\n"


class TextBuilder:
    """Collects the blocks of a document, and puts a blank line between them.

    Args:
        page_name: the name of a page: "page", "slide".

    Attributes:
        title: of the document; empty until a reader sets it.
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
        """Add a paragraph, a list or a table; a blank one adds nothing.

        Args:
            block: the text.
            headings: within the block, with their places in it.
        """
        without_indent = block.lstrip()
        text = without_indent.rstrip()
        if not text:
            return
        start = self._next_start
        shift = start - (len(block) - len(without_indent))
        for heading in headings:
            self._headings.append(replace(heading, start=heading.start + shift))
        self._length = start + len(text)
        self._blocks.append(text)

    def add_heading(self, level: int, text: str) -> None:
        """Add a heading as a block of its own; a blank one adds nothing."""
        line = " ".join(text.split())
        if line:
            self.add(line, [Heading(0, level, line)])

    def begin_page(self) -> None:
        """Begin a page. Text that was added before the first page belongs to it."""
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
        """The place at which the next block will begin."""
        return self._length + len(_GAP) if self._blocks else 0
