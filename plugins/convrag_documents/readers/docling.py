"""What docling reads: PDFs with their layout, Office files and web pages with their tables,
pictures by OCR.
"""

from collections.abc import Iterator
from functools import cache
from io import BytesIO
from itertools import groupby
from typing import Any

from convrag import ConfigError, Document
from convrag.sdk.errors import MissingExtra
from convrag_documents.readers.text import TextBuilder, join_cells
from convrag_documents.unreadable import Unreadable, shorten_reason


def read_docling(content: bytes) -> Iterator[Document]:
    """Read a file of any format that docling tells by its bytes.

    Raises:
        MissingExtra: docling, or a part of it, is not installed.
        ConfigError: it cannot begin: it needs models for this file, and they are not here.
        Unreadable: what docling has against the file, after the document where it could read a
            part.
    """
    try:
        from docling.datamodel.base_models import DocumentStream

        stream = DocumentStream(name="document", stream=BytesIO(content))
        converted = _load_converter().convert(stream, raises_on_error=False)
    except ImportError as error:
        raise MissingExtra("docling", "convrag[docling]", "dataset.reader=docling") from error
    except Exception as error:  # what is wrong with the file stands in the result
        raise ConfigError(
            f"dataset.reader=docling cannot begin: {shorten_reason(str(error))} `docling-tools models download` "
            "fetches its models; DOCLING_ARTIFACTS_PATH names their folder where it is not docling's own"
        ) from error
    if converted.status.value in ("success", "partial_success"):
        yield build_document(converted.document)
    if converted.status.value != "success":
        raise Unreadable(
            "; ".join(each.error_message for each in converted.errors) or "docling cannot read it"
        )


@cache
def _load_converter() -> Any:
    """The converter, with docling's defaults; it loads its models once."""
    from docling.document_converter import DocumentConverter

    return DocumentConverter()


def build_document(converted: Any) -> Document:
    """Put together what docling found (a DoclingDocument), in its reading order, without heads and
    feet of pages.
    """
    is_slides = converted.origin is not None and "presentation" in converted.origin.mimetype
    builder = TextBuilder("slide" if is_slides else "page")
    begun = 0
    items = (item for item, _ in converted.iterate_items(traverse_pictures=True))
    for (is_list, page), group in groupby(items, key=_find_place):
        for _ in range(begun, page):
            builder.begin_page()
        begun = max(begun, page)
        if is_list:
            builder.add("\n".join(f"{item.marker or '-'} {item.text}" for item in group))
        else:
            for item in group:
                _add(builder, item)
    return builder.build()


def _find_place(item: Any) -> tuple[bool, int]:
    """Whether an item is one of a list, and its page; 0 where the format has no pages."""
    return item.label.value == "list_item", item.prov[0].page_no if item.prov else 0


def _add(builder: TextBuilder, item: Any) -> None:
    label = item.label.value
    if label == "title":
        builder.title = builder.title or item.text
        builder.add_heading(1, item.text)
    elif label == "section_header":
        builder.add_heading(item.level + 1, item.text)
    elif hasattr(
        item, "data"
    ):  # a table: a cell that spans columns stands in the grid once for each
        spans = (enumerate(row) for row in item.data.grid)
        builder.add(
            join_cells(
                [cell.text for n, cell in row if cell.start_col_offset_idx == n] for row in spans
            )
        )
    elif hasattr(item, "text"):
        builder.add(item.text)
