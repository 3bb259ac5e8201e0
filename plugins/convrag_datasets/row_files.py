"""Rows of a file of any format: JSONL, a JSON array, CSV, TSV or Parquet, with the user's own names of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from convrag.sdk.jsonl import data_suffix
from convrag_datasets.json_rows import JsonRow, read_json_rows
from convrag_datasets.tables import read_csv_rows, read_parquet_rows

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
"""Those of the formats."""

Columns = Mapping[str, str]
"""Field -> the name of the column or key that holds it, where that is another: {"question": "prompt"}."""


def read_rows(path: Path, columns: Columns | None = None) -> Iterator[JsonRow]:
    """Stream the rows of a file, in the format that its suffix tells; without a known one it is JSONL or a JSON array.

    Args:
        path: the file; JSON, CSV and TSV may be packed as .gz or .zip.
        columns: the fields whose columns have other names.

    Raises:
        DataError: the file cannot be read, or a row is none.
        MissingExtra: a library for this format is not installed.
    """
    columns = columns or {}
    suffix = data_suffix(path).lower()
    if suffix == ".parquet":
        rows = read_parquet_rows(path, columns.values())
    elif suffix in (".csv", ".tsv"):
        rows = read_csv_rows(path, "\t" if suffix == ".tsv" else ",", columns.values())
    else:
        rows = read_json_rows(path)
    return (rename_fields(row, columns) for row in rows) if columns else rows


def rename_fields(row: JsonRow, columns: Columns) -> JsonRow:
    """The row with fields in place of the columns that they are from; other columns of these names are left out."""
    taken = {*columns, *columns.values()}
    kept = {name: value for name, value in row.data.items() if name not in taken}
    named = {field: row.data[column] for field, column in columns.items() if column in row.data}
    return replace(row, data={**kept, **named}, columns=columns)
