"""Rows of a file of any format: JSONL, a JSON array, CSV, TSV or Parquet, with the user's own names
of columns.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time
from decimal import Decimal
from itertools import accumulate
from math import isfinite
from pathlib import Path
from typing import Any, cast

import ijson

from convrag import DataError
from convrag.sdk.data.jsonl import UNREADABLE, check_is_file, data_suffix, open_unpacked, read_lines
from convrag.sdk.errors import MissingExtra
from convrag_datasets.rows import Row

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
"""The suffixes of these formats."""

Columns = Mapping[str, str]
"""Field -> the name of the column or key that holds it, where that is another: {"question":
"prompt"}.
"""

_MARK = b"\xef\xbb\xbf"  # of UTF-8
_BLOCK = 1024  # bytes that tell whether a file is an array

_ONE = rb"\\(?:[^u]|u[^dD]...|u[dD](?:[0-7]..|[89abAB]..\\u[dD][c-fC-F]..))"
_ESCAPES = re.compile(_ONE + b"(?:" + _ONE + b")*", re.DOTALL)  # whole surrogate pairs, no halves
_PAIR = len(rb"\ud83d\ude00")
_PLAIN = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_DEEPEST = 100


def read_rows(path: Path, columns: Columns | None = None) -> Iterator[Row]:
    """Stream the rows of a file, in the format that its suffix tells; without a known one it is
    JSONL or a JSON array.

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


def rename_fields(row: Row, columns: Columns) -> Row:
    """The row with fields in place of the columns that they are from; other columns of these names
    are left out.
    """
    kept = row.other_fields(*columns, *columns.values())
    return replace(
        row,
        value=kept | {name: row.fields[key] for name, key in columns.items() if key in row.fields},
    )


def read_json_rows(path: Path) -> Iterator[Row]:
    """Stream the JSON objects of a file, one a line or the items of one array. Raises DataError."""
    with _open_json(path) as file:
        if file.peek(_BLOCK).lstrip()[:1] == b"[":
            for number, value in enumerate(
                ijson.items(_CheckedJson(file, path), "item", use_float=True)
            ):
                yield Row(value, path, place=f"[{number}]")
            return
    for line in read_lines(path):
        yield Row(line.json(), path, line.number)


class _CheckedJson:
    """The blocks of a JSON file, checked for what ijson lets pass.

    For each level of nesting, ijson keeps the names of all levels above: 100,000 levels are 25 GB.
    It reads half of a surrogate pair as "?".
    """

    def __init__(self, file: io.BufferedReader, path: Path) -> None:
        self._file = file
        self._path = path
        self._depth = 0
        self._in_text = 0
        self._rest = b""  # an escape that the end of the last block cut

    def read(self, size: int) -> bytes:
        """Read a block. Raises DataError where a text has half of a surrogate pair, or lists and
        objects nest deep.
        """
        block = self._file.read(size)
        text = _ESCAPES.sub(b"", self._rest + block)
        end = text.find(b"\\") if b"\\" in text else len(text)
        if len(text) - end >= (_PAIR if block else _PAIR // 2):
            raise DataError("half of a surrogate pair is no character", path=self._path)
        self._rest = text[end:]
        parts = text[:end].translate(None, _PLAIN).split(b'"')
        brackets = b"".join(parts[self._in_text :: 2]).replace(b"{}", b"").replace(b"[]", b"")
        depths = list(accumulate(map(_STEPS.__getitem__, brackets), initial=self._depth))
        if max(depths) > _DEEPEST:
            raise DataError(
                f"lists and objects are nested more than {_DEEPEST} deep", path=self._path
            )
        self._depth = depths[-1]
        self._in_text = (self._in_text + len(parts) - 1) % 2
        return block


@contextmanager
def _open_json(path: Path) -> Iterator[io.BufferedReader]:
    """Open a JSON file behind its byte order mark. What reading it raises becomes a DataError that
    quotes the place.
    """
    check_is_file(path)
    try:
        with open_unpacked(path) as raw:
            file = cast(io.BufferedReader, raw)
            if file.peek(_BLOCK).startswith(_MARK):
                file.read(len(_MARK))
            yield file
    except ijson.JSONError as error:
        given = error.args[
            0
        ]  # two lines: what is wrong, and the characters around it; bytes where they are not UTF-8
        lines = (
            given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
        ).splitlines()
        near = f", near {quoted}" if (quoted := "".join(lines[1:2]).strip()) else ""
        raise DataError(f"this is not JSON: {lines[0].rstrip('.')}{near}", path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"this is not UTF-8, or half of a surrogate pair ({error.reason})", path=path
        ) from error
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error


_LONGEST_FIELD = 1 << 27  # characters; by default csv refuses a passage of 128 kB
_BATCH = 1000  # rows of a Parquet file that are in memory at once


def read_csv_rows(path: Path, separator: str, wanted: Collection[str] = ()) -> Iterator[Row]:
    r"""Stream the rows of a table in UTF-8 that is quoted as RFC 4180 says. The first row names the
    columns.

    A field that is empty is left out, so that it is as if the row lacked it.

    Args:
        path: the file, maybe packed as .gz or .zip.
        separator: of the fields, a comma or a tab.
        wanted: columns that must be there.

    Raises:
        DataError: the file cannot be read, has no heading or lacks a column, or a row has other
            columns.
    """
    check_is_file(path)
    csv.field_size_limit(_LONGEST_FIELD)
    line = 0
    try:
        with (
            open_unpacked(path) as raw,
            io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file,
        ):
            reader = csv.reader(file, delimiter=separator, strict=True)
            names = _check_heading(next(reader, []), path)
            _check_wanted(names, wanted, path)
            line = reader.line_num
            for fields in reader:
                first, line = line + 1, reader.line_num
                if not any(fields):
                    continue
                if len(fields) != len(names):
                    message = (
                        f"there must be {len(names)} columns, as in the heading, not {len(fields)}"
                    )
                    raise DataError(message, path=path, line=first)
                yield Row(
                    {name: text for name, text in zip(names, fields, strict=True) if text},
                    path,
                    first,
                )
    except csv.Error as error:
        raise DataError(f"this is no row of a table: {error}", path=path, line=line + 1) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"this is not UTF-8 ({error.reason}): save it as UTF-8", path=path, line=line + 1
        ) from error
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
        raise DataError(
            f"this is no Parquet file, or a damaged one: {reason}", path=path
        ) from error


def _check_heading(names: list[str], path: Path) -> list[str]:
    if not any(names):
        raise DataError("there is no heading: the first row must name the columns", path=path)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"two columns are called {twice!r}", path=path, line=1)
    return names


def _check_wanted(names: Collection[str], wanted: Collection[str], path: Path) -> None:
    if lacking := [name for name in wanted if name not in names]:
        raise DataError(
            f"there is no column {lacking[0]!r}; the columns are {', '.join(names)}", path=path
        )


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
