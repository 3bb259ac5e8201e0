"""CSV and TSV: one line of text for each row, with the names of the columns."""

from collections.abc import Iterator

from convrag import Document
from convrag.sdk.text.encodings import decode
from convrag_documents.readers.delimited_rows import split_rows
from convrag_documents.readers.tables import format_named_rows
from convrag_documents.readers.text_builder import TextBuilder


def read_csv(content: bytes) -> Iterator[Document]:
    """Read a table with commas, semicolons, tabs or bars between its cells."""
    yield _read(content, "")


def read_tsv(content: bytes) -> Iterator[Document]:
    """Read a table with tabs between its cells, or whatever its header row has."""
    yield _read(content, "\t")


def _read(content: bytes, delimiter: str) -> Document:
    rows = split_rows(decode(content), delimiter)
    builder = TextBuilder()
    builder.add("\n".join(format_named_rows(rows)))
    return builder.build()
