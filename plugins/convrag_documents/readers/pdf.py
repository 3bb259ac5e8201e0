"""PDF: the text of its pages, with the bookmarks as headings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from convrag import Document
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.types import Heading
from convrag_documents.readers.text import TextBuilder, join_wrapped_lines
from convrag_documents.unreadable import Unreadable

if TYPE_CHECKING:
    from pypdf import PdfReader

_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_FULL_LINE = 60  # characters of a line that reaches the margin, also in small columns
_NUMBER = (
    r"(?:[^\n]{0,8}\d[\d.):]*[^\S\n]+)?"  # before the words of a heading: "12.3.4 ", "Part 2: "
)

limit_logs(logging.CRITICAL, "pypdf")  # it reports what it mends in damaged files


def read_pdf(content: bytes) -> Iterator[Document]:
    """Read the text of the pages. Words that were broken at the end of a line are whole."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted:
        _decrypt(reader)
    builder = TextBuilder()
    failed: list[str] = []
    scanned: list[str] = []
    for number, page in enumerate(reader.pages, 1):
        builder.begin_page()
        try:
            text = page.extract_text()
        except Exception as error:
            failed.append(f"page {number}: {type(error).__name__}: {error}")
        else:
            builder.add(_mend_lines(text))
            if not text.strip() and "/XObject" in (
                page.get("/Resources") or ()
            ):  # an empty one is no loss
                scanned.append(str(number))
    if builder:
        yield _add_bookmarks(builder.build(), reader)
    if failed:
        raise Unreadable(
            f"{len(failed)} of its {len(reader.pages)} pages cannot be read, {failed[0]}"
        )
    if builder and scanned:
        raise Unreadable(
            f"{len(scanned)} of its {len(reader.pages)} pages have no text: {', '.join(scanned)}"
        )
    if not builder:
        of_pictures = (
            "it is scanned: its pages have no text layer (dataset.reader=docling reads it)"
        )
        raise Unreadable(of_pictures if reader.pages else "it has no pages")


def _decrypt(reader: PdfReader) -> None:
    """Open an encrypted file, which anybody may read who can open it. Raises Unreadable."""
    from pypdf.errors import DependencyError, PyPdfError

    try:
        opened = reader.decrypt("")
    except DependencyError as error:
        raise Unreadable(
            "it is encrypted; to read such files: pip install 'convrag[documents]'"
        ) from error
    except (PyPdfError, NotImplementedError, ValueError) as error:
        raise Unreadable(f"it is encrypted in a way that cannot be read: {error}") from error
    if not opened:
        raise Unreadable("it is encrypted, and needs a password")


def _mend_lines(text: str) -> str:
    """Join words and sentences that were broken at the ends of lines."""
    text = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    lines = map(
        str.rstrip,
        _HYPHEN.sub(lambda found: "" if text[found.end()].islower() else "-", text).split("\n"),
    )
    return join_wrapped_lines("\n".join(lines), full=_FULL_LINE)


def _add_bookmarks(document: Document, reader: PdfReader) -> Document:
    """Make headings of the bookmarks; one whose words do not stand on its page begins where the
    page does.
    """
    headings = []
    try:
        for level, title, page in _list_bookmarks(reader.outline, reader):
            start = document.pages[page]
            end = document.pages[page + 1] if page + 1 < len(document.pages) else len(document.text)
            headings.append(Heading(_find_heading(document.text, title, start, end), level, title))
    except Exception as error:  # the text is of more use than its bookmarks
        logging.getLogger(__name__).debug("bookmarks cannot be read", exc_info=error)
    headings.sort(key=lambda heading: heading.start)
    return Document(
        "",
        document.text,
        headings=tuple(headings),
        pages=document.pages,
        title=_find_title(document, reader),
    )


def _find_heading(text: str, title: str, start: int, end: int) -> int:
    """Find the line that a heading begins on its page, after a number perhaps; else its words, else
    the page.
    """
    words = r"\s+".join(map(re.escape, title.split()[:20]))
    for pattern in (f"^{_NUMBER}{words}", words):
        if found := re.compile(pattern, re.IGNORECASE | re.MULTILINE).search(text, start, end):
            return found.start()
    return start


def _list_bookmarks(outline: Sequence[Any], reader: PdfReader) -> Iterator[tuple[int, str, int]]:
    """Yield the level from 1, the title and the page from 0 of each bookmark."""
    waiting: list[tuple[int, Any]] = [(1, each) for each in reversed(outline)]
    while waiting:
        level, item = waiting.pop()
        if isinstance(item, list):
            waiting += [(level + 1, each) for each in reversed(item)]
            continue
        page = reader.get_destination_page_number(item)
        title = " ".join(str(item.title or "").split())
        if page is not None and 0 <= page < len(reader.pages) and title:
            yield level, title, page


def _find_title(document: Document, reader: PdfReader) -> str:
    """The title in the file's properties, where its words stand on the first page: many are names
    of drafts.
    """
    try:
        title = " ".join(str((reader.metadata or {}).get("/Title") or "").split())
    except (
        Exception
    ):  # pypdf raises many kinds where properties are damaged; a file does without a title
        return ""
    first = document.text[: document.pages[1] if len(document.pages) > 1 else None]
    return title if title and title.casefold() in " ".join(first.split()).casefold() else ""
