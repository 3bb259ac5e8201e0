"""Rows of a file of any format: JSONL, a JSON array, CSV, TSV or Parquet, with the user's own names of columns."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import cast

import ijson

from convrag import DataError
from convrag.sdk.jsonl import UNREADABLE, check_is_file, data_suffix, open_unpacked, read_lines
from convrag_datasets.rows import Row
from convrag_datasets.tables import read_csv_rows, read_parquet_rows

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
"""The suffixes of these formats."""

Columns = Mapping[str, str]
"""Field -> the name of the column or key that holds it, where that is another: {"question": "prompt"}."""

_MARK = b"\xef\xbb\xbf"  # of UTF-8
_BLOCK = 1024  # bytes that tell whether a file is an array

_ONE = rb"\\(?:[^u]|u[^dD]...|u[dD](?:[0-7]..|[89abAB]..\\u[dD][c-fC-F]..))"
_ESCAPES = re.compile(_ONE + b"(?:" + _ONE + b")*", re.DOTALL)  # whole surrogate pairs, no halves
_PAIR = len(rb"\ud83d\ude00")
_PLAIN = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_DEEPEST = 100


def read_rows(path: Path, columns: Columns | None = None) -> Iterator[Row]:
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


def rename_fields(row: Row, columns: Columns) -> Row:
    """The row with fields in place of the columns that they are from; other columns of these names are left out."""
    kept = row.other_fields(*columns, *columns.values())
    return replace(row, value=kept | {name: row.fields[key] for name, key in columns.items() if key in row.fields})


def read_json_rows(path: Path) -> Iterator[Row]:
    """Stream the JSON objects of a file, one a line or the items of one array. Raises DataError."""
    with _open_json(path) as file:
        if file.peek(_BLOCK).lstrip()[:1] == b"[":
            for number, value in enumerate(ijson.items(_CheckedJson(file, path), "item", use_float=True)):
                yield Row(value, path, place=f"[{number}]")
            return
    for line in read_lines(path):
        yield Row(line.json(), path, line.number)


def read_json_fields(path: Path, name: str) -> Iterator[tuple[str, Row]]:
    """Stream the fields of the object in a field of a file: {name: {field: value}}. Raises DataError."""
    empty = True
    with _open_json(path) as file:
        for key, value in ijson.kvitems(_CheckedJson(file, path), name, use_float=True):
            empty = False
            yield key, Row(value, path, place=f"{name}.{key}")
    if empty:
        raise DataError(f"this file must hold an object in {name!r}", path=path)


class _CheckedJson:
    """The blocks of a JSON file, checked for what ijson lets pass.

    For each level of nesting, ijson keeps the names of all levels above: 100,000 levels are 25 GB. It reads half of a
    surrogate pair as "?".
    """

    def __init__(self, file: io.BufferedReader, path: Path) -> None:
        self._file = file
        self._path = path
        self._depth = 0
        self._in_text = 0
        self._rest = b""  # an escape that the end of the last block cut

    def read(self, size: int) -> bytes:
        """Read a block. Raises DataError where a text has half of a surrogate pair, or lists and objects nest deep."""
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
            raise DataError(f"lists and objects are nested more than {_DEEPEST} deep", path=self._path)
        self._depth = depths[-1]
        self._in_text = (self._in_text + len(parts) - 1) % 2
        return block


@contextmanager
def _open_json(path: Path) -> Iterator[io.BufferedReader]:
    """Open a JSON file behind its byte order mark. What reading it raises becomes a DataError that quotes the place."""
    check_is_file(path)
    try:
        with open_unpacked(path) as raw:
            file = cast(io.BufferedReader, raw)
            if file.peek(_BLOCK).startswith(_MARK):
                file.read(len(_MARK))
            yield file
    except ijson.JSONError as error:
        given = error.args[0]  # two lines: what is wrong, and the characters around it; bytes where they are not UTF-8
        lines = (given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)).splitlines()
        near = f", near {quoted}" if (quoted := "".join(lines[1:2]).strip()) else ""
        raise DataError(f"this is not JSON: {lines[0].rstrip('.')}{near}", path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(f"this is not UTF-8, or half of a surrogate pair ({error.reason})", path=path) from error
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error
