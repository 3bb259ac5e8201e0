"""OpenDocument texts (LibreOffice): headings, paragraphs, lists and tables."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.tables import format_table
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_SIGNS = {"s": " ", "tab": " ", "line-break": "\n"}
_LEFT_OUT = {"annotation", "tracked-changes"}


def read_odt(content: bytes) -> Iterator[Document]:
    """Read a text in the order of its blocks."""
    body = Archive(content).read_xml("content.xml").find("./body/text")
    if body is None:
        raise Unreadable("this is no OpenDocument text")
    builder = TextBuilder()
    waiting = list(reversed(body))
    while waiting:
        block = waiting.pop()
        if block.tag == "h":
            builder.add_heading(int(block.get("outline-level", "1")), _read_text(block))
        elif block.tag == "p":
            builder.add(_read_text(block))
        elif block.tag == "list":
            builder.add("\n".join(f"- {_read_text(item)}" for item in block.iter("p")))
        elif block.tag == "table":
            builder.add(_read_table(block))
        elif block.tag not in _SIGNS and block.tag not in _LEFT_OUT:
            waiting.extend(reversed(block))
    yield builder.build()


def _read_table(table: Element) -> str:
    return format_table(
        [_read_text(cell) for cell in row.iter("table-cell")] for row in table.iter("table-row")
    )


def _read_text(block: Element) -> str:
    pieces = [block.text or ""]
    for child in block:
        if child.tag in _SIGNS:
            pieces.append(_SIGNS[child.tag])
        elif child.tag not in _LEFT_OUT:
            pieces.append(_read_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
