"""Damaged copies of a file: what a text editor, a merge, a full disk or another tool makes of it."""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

HUGE = "9" * 5000
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "minus": -1,
    "large": 1e308,
    "empty": "",
    "text": "x",
    "blank": " \t",
    "control": "\x1b[31m\x00",
    "long": "x" * 5000,
    "path": "../../../ESC",
    "list": [],
    "object": {},
    "nulls": [None],
    "nested": {"a": [{"b": [1]}]},
}
"""What takes the place of each value of a JSON object, by name."""

NUMBERS = ("NaN", "-Infinity", "1e400", HUGE, "0" * 400, "0x10", "1_000")
"""What takes the place of the values as they are written: no JSON, or no number that can be computed with."""

COLUMNS = (
    "",
    "x",
    "nan",
    "inf",
    "-inf",
    "1e400",
    HUGE,
    "-1",
    "1.5",
    "0x1",
    "١",
    "1_0",
    "\x00",
    "x" * 5000,
    "../../../ESC",
)
"""What takes the place of each column of a table."""


def damage_bytes(text: str) -> Iterator[tuple[str, bytes]]:
    """Damage that any text file can have: name -> contents."""
    data = text.encode()
    middle = len(data) // 2
    yield "no bytes", b""
    yield "blank", b"\n \n\t\n"
    yield "half", data[:middle]
    yield "half lost", data[middle:]
    yield "no UTF-8", data[:middle] + b"\xff\xfe" + data[middle:]
    yield "NUL", data[:middle] + b"\0" * 10 + data[middle:]
    yield "UTF-16", text.encode("utf-16")
    yield "BOM", b"\xef\xbb\xbf" + data
    yield "CRLF", data.replace(b"\n", b"\r\n")
    yield "CR", data.replace(b"\n", b"\r")
    yield "twice", data + data
    yield "no end of line", data.rstrip(b"\n")
    yield "merge marks", b"<<<<<<< HEAD\n" + data + b"=======\n>>>>>>> other\n"
    yield "HTML", b"<!DOCTYPE html><html><body>404</body></html>"
    yield "deep", b"[" * 2_000
    yield "deep in an object", b'{"a": ' * 2_000
    yield "binary", bytes(range(256))


def damage_json(rows: Sequence[Any], *, indent: int | None = None, every: int = 8) -> Iterator[tuple[str, bytes]]:
    """Damage to a file of JSON, a value a line: each value of the first row replaced, and each key left out.

    A place gets one in `every` of the values, each place others: all of them would take minutes.
    """
    yield from damage_bytes(_join(rows, indent))
    for name, value in VALUES.items():
        yield f"row: {name}", _join([value, *rows[1:]], indent).encode("utf-8", "surrogatepass")
    for number_of_path, path in enumerate(_list_paths(rows[0])):
        place = ".".join(map(str, path))
        for name, value in list(VALUES.items())[number_of_path % every :: every]:
            yield f"{place}: {name}", _join([_replace(rows[0], path, value), *rows[1:]], indent).encode()
        for number in NUMBERS[number_of_path % every :: every]:
            text = _join([_replace(rows[0], path, "<number>"), *rows[1:]], indent).replace('"<number>"', number)
            yield f"{place}: {number[:20]}", text.encode()
        if number_of_path % every < 4:
            yield f"{place}: surrogate", _join([_replace(rows[0], path, "\ud800"), *rows[1:]], indent).encode()
            yield f"{place}: left out", _join([_remove(rows[0], path), *rows[1:]], indent).encode()


def damage_table(text: str) -> Iterator[tuple[str, bytes]]:
    """Damage to a table: each column of the last line replaced, left out and doubled."""
    yield from damage_bytes(text)
    *before, last = text.rstrip("\n").split("\n")
    separator = "\t" if "\t" in last else " "
    columns = last.split(separator)
    for index in range(len(columns)):
        for value in COLUMNS[index % 3 :: 3]:
            changed = [*columns[:index], value, *columns[index + 1 :]]
            yield f"column {index}: {value[:20]!r}", "\n".join([*before, separator.join(changed), ""]).encode()
        left = [*columns[:index], *columns[index + 1 :]]
        yield f"column {index}: left out", "\n".join([*before, separator.join(left), ""]).encode()
        doubled = [*columns[: index + 1], *columns[index:]]
        yield f"column {index}: doubled", "\n".join([*before, separator.join(doubled), ""]).encode()


def _join(rows: Sequence[Any], indent: int | None) -> str:
    return "".join(f"{json.dumps(row, indent=indent)}\n" for row in rows)


def _list_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values; of a list, those of its first item."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _list_paths(item, (*path, key))


def _replace(row: Any, path: Sequence[Any], value: Any) -> Any:
    changed = deepcopy(row)
    _find(changed, path)[path[-1]] = value
    return changed


def _remove(row: Any, path: Sequence[Any]) -> Any:
    changed = deepcopy(row)
    del _find(changed, path)[path[-1]]
    return changed


def _find(row: Any, path: Sequence[Any]) -> Any:
    for key in path[:-1]:
        row = row[key]
    return row
