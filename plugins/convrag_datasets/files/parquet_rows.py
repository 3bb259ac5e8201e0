"""Rows of Parquet files."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.data.jsonl import check_is_file
from convrag.sdk.errors import MissingExtra
from convrag_datasets.files.csv_rows import check_columns
from convrag_datasets.files.row import Row

_BATCH = 1000
"""Rows that are in memory at once."""


def read_parquet_rows(path: Path, wanted: Collection[str] = ()) -> Iterator[Row]:
    """Stream the rows of a Parquet file as plain data. Times become text in the form of ISO 8601.

    Args:
        path: the file.
        wanted: columns that must be there.

    Raises:
        MissingExtra: pyarrow is not installed.
        DataError: the file cannot be read, or lacks a column.
    """
    check_is_file(path)
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingExtra("pyarrow", "convrag[parquet]", f"reading {path.name}") from error
    number = 0
    try:
        with ParquetFile(path) as file:
            check_columns(file.schema_arrow.names, wanted, path)
            for batch in file.iter_batches(_BATCH):
                for data in batch.to_pylist():
                    number += 1
                    yield Row(_make_plain(data), path, place=f"row {number}")
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"this is no Parquet file, or a damaged one: {reason}", path=path
        ) from error


def _make_plain(value: Any) -> Any:
    """Convert a value to plain data as JSON has it.

    Bytes, and numbers that JSON does not have, become None.
    """
    if isinstance(value, Mapping):
        return {str(name): _make_plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(each) for each in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return _make_plain(float(value))
    return value if isinstance(value, str | int | bool) else None
