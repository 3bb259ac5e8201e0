"""EPUB: the chapters of a book in the order of reading, each read as HTML."""

import posixpath
import re
from collections.abc import Iterator

from convrag import Document
from convrag_documents.readers.archive import Archive, resolve_name
from convrag_documents.readers.html import add_html
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_CONTAINER = "META-INF/container.xml"
_ENCRYPTED = "META-INF/encryption.xml"
_PAGES = {"application/xhtml+xml", "text/html"}
_CLOSED = re.compile(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>"
)
"""An element that XML closes at once. HTML knows no such thing: the text after <title/> would be the title."""


def read_epub(content: bytes) -> Iterator[Document]:
    """Read a book; its description has the title."""
    archive = Archive(content)
    package = next((each.get("full-path", "") for each in archive.read_xml(_CONTAINER).iter("rootfile")), "")
    book = archive.read_xml(package)
    folder = posixpath.dirname(package)
    items = {each.get("id"): each for each in book.iter("item")}
    encrypted = set()
    if _ENCRYPTED in archive:
        encrypted = {each.get("URI", "") for each in archive.read_xml(_ENCRYPTED).iter("CipherReference")}
    builder = TextBuilder()
    builder.title = next((each.text or "" for each in book.iter("title")), "")
    for entry in book.iter("itemref"):
        item = items.get(entry.get("idref"))
        if item is None or item.get("media-type") not in _PAGES:
            continue
        name = resolve_name(folder, item.get("href", ""))
        if name in encrypted:
            raise Unreadable("it is protected against copying (DRM)")
        add_html(builder, _CLOSED.sub(rb"<\1\2></\1>", archive.read(name)))
    yield builder.build()
