"""Jupyter notebooks: the Markdown and the code of the cells, without the output of the code."""

from collections.abc import Iterator
from typing import Any

from convrag import Document
from convrag.sdk.data.strict_json import parse_json
from convrag.sdk.text.encodings import decode
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.markdown import parse_markdown
from convrag_documents.readers.markdown_signs import simplify_signs
from convrag_documents.readers.text_builder import TextBuilder


def read_notebook(content: bytes) -> Iterator[Document]:
    """Read the cells in their order, with code between fences."""
    try:
        notebook = parse_json(decode(content))
    except ValueError as error:
        raise Unreadable(f"it is damaged: {error}") from error
    builder = TextBuilder()
    for cell in _list_cells(notebook):
        text = _read_source(cell)
        if cell.get("cell_type") != "code":
            joined, headings = parse_markdown(text)
            builder.add(joined, headings)
        elif text.strip():
            builder.add(f"```\n{text.strip()}\n```")
    yield simplify_signs(builder.build())


def _list_cells(notebook: Any) -> list[dict[str, Any]]:
    """List the cells of a notebook, in its form since 2015."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable("this is no notebook")
    return [cell for cell in notebook["cells"] if isinstance(cell, dict)]


def _read_source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))
