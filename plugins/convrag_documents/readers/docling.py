"""Files that docling reads: PDF, Office, web pages and pictures, with their layout and tables."""

from collections.abc import Iterator
from functools import cache
from io import BytesIO
from itertools import groupby
from typing import Any

from convrag import ConfigError, Document
from convrag.sdk.errors import MissingExtra
from convrag.sdk.text.unreadable import Unreadable, shorten_reason
from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import format_table, write_rows
from convrag_documents.readers.text_builder import TextBuilder


def read_docling(content: bytes) -> Iterator[Document]:
    """Read a file of any format that docling recognises by its bytes.

    Raises:
        MissingExtra: docling, or a part of it, is not installed.
        ConfigError: docling cannot begin: it needs models for this file, and they are not here.
        Unreadable: docling's errors, after the document where it could read a part.
    """
    try:
        from docling.datamodel.base_models import DocumentStream

        stream = DocumentStream(name="document", stream=BytesIO(content))
        result = _load_converter().convert(stream, raises_on_error=False)
    except ImportError as error:
        raise MissingExtra("docling", "convrag[docling]", "dataset.reader=docling") from error
    except Exception as error:  # the result has the errors of the file itself
        reason = shorten_reason(str(error))
        raise ConfigError(
            f"dataset.reader=docling cannot begin: {reason} `docling-tools models download` "
            "fetches its models; DOCLING_ARTIFACTS_PATH names their folder where it is not "
            "docling's own"
        ) from error
    status = result.status.value
    if status in ("success", "partial_success"):
        yield build_document(result.document)
    if status != "success":
        messages = "; ".join(error.error_message for error in result.errors)
        raise Unreadable(messages or "docling cannot read it")


@cache
def _load_converter() -> Any:
    """Load the converter, with docling's defaults; it loads its models once."""
    from docling.document_converter import DocumentConverter

    return DocumentConverter()


def build_document(converted: Any) -> Document:
    """Put together what docling found, in its reading order, without heads and feet of pages.

    Args:
        converted: a DoclingDocument.
    """
    is_slides = converted.origin is not None and "presentation" in converted.origin.mimetype
    builder = TextBuilder("slide" if is_slides else "page")
    pages_begun = 0
    items = (
        item
        for item, _ in converted.iterate_items(traverse_pictures=True)
        if _find_table(item, converted) is None  # what is in a cell is read with its table
    )
    for (is_list, page), group in groupby(items, key=_find_place):
        while pages_begun < page:
            builder.begin_page()
            pages_begun += 1
        if is_list:
            lines = [f"{item.marker or '-'} {item.text}" for item in group]
            builder.add("\n".join(lines))
        else:
            for item in group:
                _add_item(builder, item, converted)
    return builder.build()


def _find_place(item: Any) -> tuple[bool, int]:
    """Return whether an item is one of a list, and its page; 0 where the format has no pages."""
    page = item.prov[0].page_no if item.prov else 0
    return item.label.value == "list_item", page


def _add_item(builder: TextBuilder, item: Any, converted: Any) -> None:
    label = item.label.value
    if label == "title":
        builder.title = builder.title or item.text
        builder.add_heading(1, item.text)
    elif label == "section_header":
        builder.add_heading(item.level + 1, item.text)
    elif hasattr(item, "data"):  # a table
        builder.add(format_table(_read_rows(item, converted)))
    elif hasattr(item, "text"):
        builder.add(item.text)


def _find_table(item: Any, converted: Any) -> Any:
    """Find the table that an item is in; None for an item outside of tables, and for captions."""
    if item.label.value == "caption":
        return None
    parent = item.parent
    while parent is not None:
        above = parent.resolve(converted)
        if hasattr(above, "data"):
            return above
        parent = getattr(above, "parent", None)
    return None


def _read_rows(table: Any, converted: Any) -> Iterator[list[Cell]]:
    """Yield the rows of a table; its grid repeats a cell in each place that it spans."""
    for number, row in enumerate(table.data.grid):
        yield [
            _read_cell(cell, table, converted)
            for column, cell in enumerate(row)
            if (cell.start_row_offset_idx, cell.start_col_offset_idx) == (number, column)
        ]


def _read_cell(cell: Any, table: Any, converted: Any) -> Cell:
    """Read a cell; its parts, if it has any, are items of their own, and may be tables."""
    is_heading = cell.column_header or cell.row_header
    parts = getattr(cell, "ref", None)
    if parts is None:
        return Cell(cell.text, cell.col_span, cell.row_span, is_heading)
    texts = []
    tables: list[str] = []
    for item, _ in converted.iterate_items(root=parts.resolve(converted)):
        if _find_table(item, converted) is not table:
            continue
        if hasattr(item, "data"):
            tables.extend(write_rows(_read_rows(item, converted)))
        elif hasattr(item, "text"):
            texts.append(item.text)
    return Cell(" ".join(texts), cell.col_span, cell.row_span, is_heading, tuple(tables))
