"""Rows of CSV and TSV files."""

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path

from convrag import DataError
from convrag.sdk.data.jsonl import UNREADABLE, check_is_file, open_unpacked
from convrag_datasets.files.row import Row

_LONGEST_FIELD = 1 << 27
"""Characters of a field; by default csv refuses a passage of 128 kB."""


def read_csv_rows(path: Path, separator: str, wanted: Collection[str] = ()) -> Iterator[Row]:
    """Stream the rows of a table in UTF-8 that is quoted as RFC 4180 says.

    The first row names the columns. A field that is empty is left out, as if the row lacked it.

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
    last_line = 0
    try:
        with (
            open_unpacked(path) as raw,
            io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file,
        ):
            reader = csv.reader(file, delimiter=separator, strict=True)
            names = next(reader, [])
            _check_heading(names, path)
            check_columns(names, wanted, path)
            last_line = reader.line_num
            for fields in reader:
                line = last_line + 1
                last_line = reader.line_num
                if any(fields):
                    yield _make_row(names, fields, path, line)
    except csv.Error as error:
        raise DataError(
            f"this is no row of a table: {error}", path=path, line=last_line + 1
        ) from error
    except UnicodeDecodeError as error:
        message = f"this is not UTF-8 ({error.reason}): save it as UTF-8"
        raise DataError(message, path=path, line=last_line + 1) from error
    except UNREADABLE as error:
        message = f"this file cannot be read: {error}"
        raise DataError(message, path=path, line=last_line + 1) from error


def check_columns(names: Collection[str], wanted: Collection[str], path: Path) -> None:
    """Raise DataError where a table lacks a column."""
    for name in wanted:
        if name not in names:
            raise DataError(
                f"there is no column {name!r}; the columns are {', '.join(names)}", path=path
            )


def _check_heading(names: list[str], path: Path) -> None:
    if not any(names):
        raise DataError("there is no heading: the first row must name the columns", path=path)
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"two columns are called {name!r}", path=path, line=1)


def _make_row(names: list[str], fields: list[str], path: Path, line: int) -> Row:
    if len(fields) != len(names):
        message = f"there must be {len(names)} columns, as in the heading, not {len(fields)}"
        raise DataError(message, path=path, line=line)
    value = {name: text for name, text in zip(names, fields, strict=True) if text}
    return Row(value, path, line)
