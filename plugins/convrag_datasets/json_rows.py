"""Rows of data sets' files: their fields are checked when they are read, with file and line in each error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import json_type, read_lines
from convrag_datasets.json_stream import is_json_list, read_values


@dataclass(frozen=True, slots=True)
class JsonRow:
    """A JSON object or a row of a table, and its place in a file.

    `line` counts from 1, and is 0 in a file without lines. `prefix` tells apart the objects within one line
    ("turn 2: "), and names the row in a file without lines ("row 7: "). `columns` says for fields which column of the
    file they are from, where that has another name.
    """

    data: Mapping[str, Any]
    path: Path
    line: int
    prefix: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Where the row is in its file: "line 3", "line 1, item 2" or "row 7"."""
        line = f"line {self.line}" if self.line else ""
        return ", ".join(filter(None, [line, self.prefix.rstrip(": ")]))

    def error(self, message: str) -> DataError:
        """A DataError that names file, line and object."""
        return DataError(f"{self.prefix}{message}", path=self.path, line=self.line or None)

    def require_text(self, *names: str, blank: bool = False) -> str:
        """The string of the first of these fields that is there. Raises DataError if it is blank, unless allowed."""
        for name in names:
            if name in self.data:
                value = self._check_string(name, self.data[name])
                if not blank and not value.strip():
                    raise self.error(f"{name!r} is empty")
                return value
        raise self.error(f"there is no {' or '.join(repr(self.columns.get(name, name)) for name in names)}")

    def require_id(self, *names: str) -> str:
        """The id in the first of these fields that is there: a string or an integer. Raises DataError."""
        name = next((name for name in names if name in self.data), "")
        value = self.data.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.require_text(*names)

    def optional_text(self, *names: str) -> str:
        """The string of the first of these fields that has a value; empty where none has. Raises DataError."""
        name = next((name for name in names if self.data.get(name) is not None), "")
        return self._check_string(name, self.data[name]) if name else ""

    def require_rows(self, name: str, item: str) -> list[JsonRow]:
        """The objects of the list in this field, which may be empty. Raises DataError.

        Args:
            name: the field.
            item: what an object of the list is called in errors.
        """
        if name not in self.data:
            raise self.error(f"there is no {name!r}")
        items = self.data[name]
        if not isinstance(items, list):
            raise self.error(f"{name!r} must be a list, not {json_type(items)}")
        for number, data in enumerate(items, 1):
            if not isinstance(data, dict):
                raise self.error(f"{item} {number} must be an object, not {json_type(data)}")
        return [JsonRow(data, self.path, self.line, f"{self.prefix}{item} {n}: ") for n, data in enumerate(items, 1)]

    def optional_rows(self, name: str, item: str) -> list[JsonRow]:
        """The objects of the list in this field; none where it is absent or empty. Raises DataError."""
        return self.require_rows(name, item) if self.data.get(name) else []

    def other_fields(self, *names: str) -> dict[str, Any]:
        """All fields except these."""
        return {name: value for name, value in self.data.items() if name not in names}

    def _check_string(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.error(f"{name!r} must be a string, not {json_type(value)}")
        return value


class UniqueIds:
    """The ids of a file read so far, with the place of each.

    Args:
        kind: what they are the ids of, for errors.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._places: dict[str, int | str] = {}  # the line alone where that is the place: corpora are large

    def __len__(self) -> int:
        return len(self._places)

    def add(self, name: str, row: JsonRow) -> None:
        """Add the id of a row. Raises DataError where another row has it."""
        if first := self._places.get(name):
            place = f"line {first}" if isinstance(first, int) else first
            raise row.error(f"the {self.kind} id {name!r} occurs twice (first in {place})")
        self._places[name] = row.place if row.prefix else row.line


def read_json_rows(path: Path) -> Iterator[JsonRow]:
    """Stream the JSON objects of a file, one a line or the items of one array. Raises DataError."""
    if not is_json_list(path):
        for line in read_lines(path):
            yield JsonRow(line.json(), path, line.number)
        return
    for number, (_, value, first_line) in enumerate(read_values(path, 1), 1):
        row = JsonRow(value, path, first_line, f"item {number}: ")
        if not isinstance(value, dict):
            raise row.error(f"this must be a JSON object, not {json_type(value)}")
        yield row
