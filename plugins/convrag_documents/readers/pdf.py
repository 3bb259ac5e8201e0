"""PDF: the text of its pages, with the bookmarks as headings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag import Document
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.types import Heading
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.readers.wrapped_lines import join_wrapped_lines
from convrag_documents.unreadable import Unreadable

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

log = logging.getLogger(__name__)

_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_FULL_LINE = 60
"""Characters of a line that reaches the margin, also in small columns."""

_HEADING_NUMBER = r"(?:[^\n]{0,8}\d[\d.):]*[^\S\n]+)?"
"""The number before the words of a heading: "12.3.4 ", "Part 2: "."""

_HEADING_WORDS = 20
"""Words of a bookmark that are looked for on its page."""

limit_logs(logging.CRITICAL, "pypdf")  # it reports what it mends in damaged files


class _Failures(NamedTuple):
    """Pages without text: those that pypdf cannot read, and those that are pictures alone."""

    damaged: list[str]
    scanned: list[str]


def read_pdf(content: bytes) -> Iterator[Document]:
    """Read the text of the pages. Words that were broken at the end of a line are whole."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted:
        _decrypt(reader)
    builder = TextBuilder()
    failures = _add_pages(builder, reader)
    if builder:
        yield _add_bookmarks(builder.build(), reader)
    problem = _describe_failures(failures, len(reader.pages), has_text=bool(builder))
    if problem:
        raise Unreadable(problem)


def _decrypt(reader: PdfReader) -> None:
    """Open an encrypted file that needs no password. Raises Unreadable."""
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


def _add_pages(builder: TextBuilder, reader: PdfReader) -> _Failures:
    failures = _Failures([], [])
    for number, page in enumerate(reader.pages, 1):
        builder.begin_page()
        try:
            text = page.extract_text()
        except Exception as error:
            failures.damaged.append(f"page {number}: {type(error).__name__}: {error}")
            continue
        builder.add(_mend_lines(text))
        if not text.strip() and _has_pictures(page):
            failures.scanned.append(str(number))
    return failures


def _has_pictures(page: PageObject) -> bool:
    """Whether a page without text may have some in pictures; an empty page loses nothing."""
    return "/XObject" in (page.get("/Resources") or ())


def _describe_failures(failures: _Failures, pages: int, *, has_text: bool) -> str:
    """Say which pages were not read; empty where all were."""
    if failures.damaged:
        return f"{len(failures.damaged)} of its {pages} pages cannot be read, {failures.damaged[0]}"
    if has_text and failures.scanned:
        numbers = ", ".join(failures.scanned)
        return f"{len(failures.scanned)} of its {pages} pages have no text: {numbers}"
    if has_text:
        return ""
    if pages:
        return "it is scanned: its pages have no text layer (dataset.reader=docling reads it)"
    return "it has no pages"


def _mend_lines(text: str) -> str:
    """Join words and sentences that were broken at the ends of lines."""
    text = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")

    def mend_hyphen(found: re.Match[str]) -> str:
        next_letter = text[found.end()]
        return "" if next_letter.islower() else "-"

    lines = [line.rstrip() for line in _HYPHEN.sub(mend_hyphen, text).split("\n")]
    return join_wrapped_lines("\n".join(lines), full=_FULL_LINE)


def _add_bookmarks(document: Document, reader: PdfReader) -> Document:
    """Make the bookmarks headings, and read the title."""
    headings = []
    try:
        for level, title, page in _list_bookmarks(reader.outline, reader):
            headings.append(Heading(_find_heading(document, title, page), level, title))
    except Exception as error:  # the text is of more use than its bookmarks
        log.debug("bookmarks cannot be read", exc_info=error)
    headings.sort(key=lambda heading: heading.start)
    return Document(
        "",
        document.text,
        headings=tuple(headings),
        pages=document.pages,
        title=_find_title(document, reader),
    )


def _find_heading(document: Document, title: str, page: int) -> int:
    """Find where a heading begins on its page: its line, else its words, else the page."""
    start = document.pages[page]
    is_last = page + 1 == len(document.pages)
    end = len(document.text) if is_last else document.pages[page + 1]
    words = r"\s+".join(re.escape(word) for word in title.split()[:_HEADING_WORDS])
    for pattern in (f"^{_HEADING_NUMBER}{words}", words):
        found = re.compile(pattern, re.IGNORECASE | re.MULTILINE).search(document.text, start, end)
        if found:
            return found.start()
    return start


def _list_bookmarks(outline: Sequence[Any], reader: PdfReader) -> Iterator[tuple[int, str, int]]:
    """Yield the level from 1, the title and the page from 0 of each bookmark."""
    waiting: list[tuple[int, Any]] = [(1, item) for item in reversed(outline)]
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
    """Return the title in the file's properties, if the first page has its words.

    Many files have the name of a draft there.
    """
    try:
        title = str((reader.metadata or {}).get("/Title") or "")
    except Exception:  # pypdf raises many kinds where properties are damaged
        return ""
    title = " ".join(title.split())
    first_end = document.pages[1] if len(document.pages) > 1 else len(document.text)
    first_page = " ".join(document.text[:first_end].split())
    return title if title.casefold() in first_page.casefold() else ""
