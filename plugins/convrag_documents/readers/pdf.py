"""PDF: the text of its pages and forms, with the bookmarks as headings."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from convrag import Document
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.pdf_bookmarks import find_headings
from convrag_documents.readers.pdf_forms import insert_fields, is_dynamic_form, read_fields
from convrag_documents.readers.pdf_lines import Line, resolve
from convrag_documents.readers.pdf_order import sort_lines
from convrag_documents.readers.pdf_text import PageText, clean_line, collect_words, make_page_text
from convrag_documents.readers.ruled_tables import RuledTables
from convrag_documents.readers.text_builder import TextBuilder

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

log = logging.getLogger(__name__)

limit_logs(logging.CRITICAL, "pypdf")  # it reports what it mends in damaged files


_LARGEST_CONTENT = 2_000_000
"""Bytes of a page's drawing that are read: pypdf takes some 70 times as much memory."""


_LARGEST_STREAM = 20_000_000
"""Bytes that a stream may have when it is unpacked; pypdf undoes some packings row by row."""


class _Failures(NamedTuple):
    """Pages that are not read: damaged ones, pictures alone, and those of which a part is read."""

    damaged: list[str]
    scanned: list[str]
    cut: list[str]


def read_pdf(content: bytes) -> Iterator[Document]:
    """Read the text of the pages and the values of forms, with the bookmarks as headings."""
    from pypdf import apply_configuration

    with apply_configuration(zlib_maximum_output_length=_LARGEST_STREAM):
        document, problem = _read_document(content)
    if document is not None:
        yield document
    if problem:
        raise Unreadable(problem)


def _read_document(content: bytes) -> tuple[Document | None, str]:
    """Read the document, None where it has no text, and say what of it is not read."""
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted:
        _decrypt(reader)
    lines_by_page, failures = _read_pages(reader)
    words = collect_words(line for lines in lines_by_page for line in lines)
    pages = [make_page_text(lines, words) for lines in lines_by_page]
    builder = TextBuilder()
    for page in pages:
        builder.begin_page()
        builder.add(page.text)
    document = _add_headings(builder.build(), reader, pages) if builder else None
    problem = _describe_failures(failures, len(pages), has_text=bool(builder))
    if not problem and is_dynamic_form(reader):
        problem = "it is a form of XFA, which only Adobe's programs show"
    return document, problem


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


def _read_pages(reader: PdfReader) -> tuple[list[list[Line]], _Failures]:
    """Read the lines of each page in reading order, with the fields of forms."""
    pages: list[list[Line]] = []
    failures = _Failures([], [], [])
    tables = RuledTables()
    for number, page in enumerate(reader.pages, 1):
        lines: list[Line] = []
        try:
            if _cut_content(page):
                failures.cut.append(str(number))
            lines = tables.read_lines(page, number)
        except Exception as error:
            failures.damaged.append(f"page {number}: {type(error).__name__}: {error}")
        else:
            has_text = any(line.text.strip() for line in lines)
            if not has_text and _has_pictures(page):
                failures.scanned.append(str(number))
        text = [clean_line(line) for line in sort_lines(lines)]
        pages.append(insert_fields(text, _read_fields(page)))
    return pages, failures


def _cut_content(page: PageObject) -> bool:
    """Cut the drawing of a page at a limit, for the sake of memory and time; say whether it was."""
    from pypdf.generic import DecodedStreamObject, NameObject

    contents = page.get_contents()
    data = contents.get_data() if contents is not None else b""
    if len(data) <= _LARGEST_CONTENT:
        return False
    beginning, _, _ = data[:_LARGEST_CONTENT].rpartition(b"\n")
    stream = DecodedStreamObject()
    stream.set_data(beginning)
    page[NameObject("/Contents")] = stream
    return True


def _read_fields(page: PageObject) -> list[Line]:
    """Read the fields of a page; none where they are damaged."""
    try:
        return read_fields(page)
    except Exception as error:  # the text is of more use than its fields
        log.debug("the fields of a page cannot be read", exc_info=error)
        return []


def _has_pictures(page: PageObject) -> bool:
    """Whether a page without text may have some in pictures; an empty page loses nothing."""
    resources = resolve(page.get("/Resources"))
    return isinstance(resources, Mapping) and "/XObject" in resources


def _describe_failures(failures: _Failures, pages: int, *, has_text: bool) -> str:
    """Say which pages were not read; empty where all were."""
    if failures.damaged:
        return f"{len(failures.damaged)} of its {pages} pages cannot be read, {failures.damaged[0]}"
    if failures.cut:
        numbers = ", ".join(failures.cut)
        count = f"{len(failures.cut)} of its {pages} pages"
        return f"only the beginning of {count} is read, since more is too large: {numbers}"
    if has_text and failures.scanned:
        numbers = ", ".join(failures.scanned)
        return f"{len(failures.scanned)} of its {pages} pages have no text: {numbers}"
    if has_text:
        return ""
    if pages:
        return "it is scanned: its pages have no text layer (dataset.reader=docling reads it)"
    return "it has no pages"


def _add_headings(document: Document, reader: PdfReader, pages: Sequence[PageText]) -> Document:
    """Make the bookmarks headings, and read the title."""
    return Document(
        "",
        document.text,
        headings=find_headings(document, reader, pages),
        pages=document.pages,
        title=_find_title(document, reader),
    )


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
