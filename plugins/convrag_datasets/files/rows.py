"""Rows of a file, in the format of its suffix: JSONL, a JSON array, CSV, TSV or Parquet."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from convrag.sdk.data.jsonl import data_suffix
from convrag_datasets.files.csv_rows import read_csv_rows
from convrag_datasets.files.json_rows import read_json_rows
from convrag_datasets.files.parquet_rows import read_parquet_rows
from convrag_datasets.files.row import Row

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
"""The suffixes of these formats."""

Columns = Mapping[str, str]
"""Field -> the name of its column or key, where that is another: {"question": "prompt"}."""


def read_rows(path: Path, columns: Columns | None = None) -> Iterator[Row]:
    """Stream the rows of a file.

    A file with an unknown suffix is JSONL or a JSON array.

    Args:
        path: the file; JSON, CSV and TSV may be packed as .gz or .zip.
        columns: the fields whose columns have other names.

    Raises:
        DataError: the file cannot be read, or a row is malformed.
        MissingExtra: a library for this format is not installed.
    """
    columns = columns or {}
    suffix = data_suffix(path).lower()
    if suffix == ".parquet":
        rows = read_parquet_rows(path, columns.values())
    elif suffix == ".csv":
        rows = read_csv_rows(path, ",", columns.values())
    elif suffix == ".tsv":
        rows = read_csv_rows(path, "\t", columns.values())
    else:
        rows = read_json_rows(path)
    if not columns:
        return rows
    return (_rename_fields(row, columns) for row in rows)


def _rename_fields(row: Row, columns: Columns) -> Row:
    """Name fields as the data sets do; a column that has such a name already is left out."""
    fields = row.other_fields(*columns, *columns.values())
    for name, column in columns.items():
        if column in row.fields:
            fields[name] = row.fields[column]
    return replace(row, value=fields)
