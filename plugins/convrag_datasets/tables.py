"""Rows of tables: CSV and TSV files with a heading, and Parquet files."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.errors import MissingExtra
from convrag.sdk.jsonl import UNREADABLE, check_is_file, open_unpacked
from convrag_datasets.rows import Row

_LONGEST_FIELD = 1 << 27  # characters; by default csv refuses a passage of 128 kB
_BATCH = 1000  # rows of a Parquet file that are in memory at once


def read_csv_rows(path: Path, separator: str, wanted: Collection[str] = ()) -> Iterator[Row]:
    r"""Stream the rows of a table in UTF-8 that is quoted as RFC 4180 says. The first row names the columns.

    A field that is empty is left out, so that it is as if the row lacked it.

    Args:
        path: the file, maybe packed as .gz or .zip.
        separator: of the fields, a comma or a tab.
        wanted: columns that must be there.

    Raises:
        DataError: the file cannot be read, has no heading or lacks a column, or a row has other columns.
    """
    check_is_file(path)
    csv.field_size_limit(_LONGEST_FIELD)
    line = 0
    try:
        with open_unpacked(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            names = _check_heading(next(reader, []), path)
            _check_wanted(names, wanted, path)
            line = reader.line_num
            for fields in reader:
                first, line = line + 1, reader.line_num
                if not any(fields):
                    continue
                if len(fields) != len(names):
                    message = f"there must be {len(names)} columns, as in the heading, not {len(fields)}"
                    raise DataError(message, path=path, line=first)
                yield Row({name: text for name, text in zip(names, fields, strict=True) if text}, path, first)
    except csv.Error as error:
        raise DataError(f"this is no row of a table: {error}", path=path, line=line + 1) from error
    except UnicodeDecodeError as error:
        raise DataError(f"this is not UTF-8 ({error.reason})", path=path, line=line + 1) from error
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path, line=line + 1) from error


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
            _check_wanted(file.schema_arrow.names, wanted, path)
            for batch in file.iter_batches(_BATCH):
                for data in batch.to_pylist():
                    number += 1
                    yield Row(_make_plain(data), path, place=f"row {number}")
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"this is no Parquet file, or a damaged one: {reason}", path=path) from error


def _check_heading(names: list[str], path: Path) -> list[str]:
    if not any(names):
        raise DataError("there is no heading: the first row must name the columns", path=path)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"two columns are called {twice!r}", path=path, line=1)
    return names


def _check_wanted(names: Collection[str], wanted: Collection[str], path: Path) -> None:
    if lacking := [name for name in wanted if name not in names]:
        raise DataError(f"there is no column {lacking[0]!r}; the columns are {', '.join(names)}", path=path)


def _make_plain(value: Any) -> Any:
    """Plain data as JSON has it; bytes and numbers that JSON does not have become None."""
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
