"""OpenDocument texts (LibreOffice): headings, paragraphs, lists and tables."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from convrag import Document
from convrag_documents.readers.archive import Archive
from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import format_table, write_rows
from convrag_documents.readers.text_builder import TextBuilder
from convrag_documents.unreadable import Unreadable

_SIGNS = {"s": " ", "tab": " ", "line-break": "\n"}
_LEFT_OUT = {"annotation", "tracked-changes"}
_ROW_GROUPS = {"table-header-rows", "table-rows", "table-row-group"}
_DEEPEST = 10
"""Tables within each other; the text of those further down belongs to the cell around them."""

_MOST_DIGITS = 7
"""Digits from which a number of spanned cells is damaged."""


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
            builder.add(format_table(_read_rows(block, depth=1)))
        elif block.tag not in _SIGNS and block.tag not in _LEFT_OUT:
            waiting.extend(reversed(block))
    yield builder.build()


def _read_rows(table: Element, depth: int) -> Iterator[list[Cell]]:
    """Yield the rows of a table; those that it repeats, once."""
    waiting = [(child, False) for child in reversed(table)]
    while waiting:
        element, is_heading = waiting.pop()
        if element.tag == "table-row":
            yield [
                _read_cell(cell, depth, is_heading=is_heading)
                for cell in element
                if cell.tag == "table-cell"  # the others are covered by a merged cell
            ]
        elif element.tag in _ROW_GROUPS:
            is_head = is_heading or element.tag == "table-header-rows"
            waiting.extend((child, is_head) for child in reversed(element))


def _read_cell(cell: Element, depth: int, *, is_heading: bool) -> Cell:
    """Read a cell: its paragraphs, also those in lists, and the tables in it."""
    texts = []
    tables: list[str] = []
    waiting = list(reversed(cell))
    while waiting:
        block = waiting.pop()
        if block.tag in ("p", "h"):
            texts.append(_read_text(block))
        elif block.tag == "table" and depth < _DEEPEST:
            tables.extend(write_rows(_read_rows(block, depth + 1)))
        elif block.tag not in _LEFT_OUT:
            waiting.extend(reversed(block))
    spanned = _read_number(cell, "number-columns-spanned")
    repeated = _read_number(cell, "number-columns-repeated")
    rows = _read_number(cell, "number-rows-spanned")
    return Cell(" ".join(texts), spanned * repeated, rows, is_heading, tuple(tables))


def _read_number(element: Element, name: str) -> int:
    value = element.get(name, "")
    is_number = value.isdecimal() and 0 < len(value) < _MOST_DIGITS
    return max(1, int(value)) if is_number else 1


def _read_text(block: Element) -> str:
    pieces = [block.text or ""]
    for child in block:
        if child.tag in _SIGNS:
            pieces.append(_SIGNS[child.tag])
        elif child.tag not in _LEFT_OUT:
            pieces.append(_read_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)
