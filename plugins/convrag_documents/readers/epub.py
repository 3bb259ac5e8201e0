"""EPUB: the chapters of a book."""

import posixpath
import re
from collections.abc import Iterator

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.archive import Archive, resolve_name
from convrag_documents.readers.html import add_html
from convrag_documents.readers.text_builder import TextBuilder

_CONTAINER = "META-INF/container.xml"
_ENCRYPTED = "META-INF/encryption.xml"
_PAGE_TYPES = {"application/xhtml+xml", "text/html"}
_SELF_CLOSED = re.compile(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    rb"([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>"
)
"""An element that XML closes at once.

HTML has no such elements: the text after <title/> would be the title.
"""


def read_epub(content: bytes) -> Iterator[Document]:
    """Read a book; its description has the title."""
    archive = Archive(content)
    package = _find_package(archive)
    book = archive.read_xml(package)
    folder = posixpath.dirname(package)
    encrypted = _list_encrypted(archive)
    items = {item.get("id"): item for item in book.iter("item")}
    builder = TextBuilder()
    title = next(book.iter("title"), None)
    if title is not None:
        builder.title = title.text or ""
    for entry in book.iter("itemref"):
        item = items.get(entry.get("idref"))
        if item is None or item.get("media-type") not in _PAGE_TYPES:
            continue
        name = resolve_name(folder, item.get("href", ""))
        if name in encrypted:
            raise Unreadable("it is protected against copying (DRM)")
        add_html(builder, _SELF_CLOSED.sub(rb"<\1\2></\1>", archive.read_markup(name)))
    yield builder.build()


def _find_package(archive: Archive) -> str:
    """Find the member that describes the book."""
    rootfile = next(archive.read_xml(_CONTAINER).iter("rootfile"), None)
    return "" if rootfile is None else rootfile.get("full-path", "")


def _list_encrypted(archive: Archive) -> set[str]:
    if _ENCRYPTED not in archive:
        return set()
    references = archive.read_xml(_ENCRYPTED).iter("CipherReference")
    return {reference.get("URI", "") for reference in references}
