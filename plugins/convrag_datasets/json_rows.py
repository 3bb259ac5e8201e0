"""JSONL files of data sets: rows whose fields are checked when they are read, with file and line in each error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import json_type, read_lines


@dataclass(frozen=True, slots=True)
class JsonRow:
    """A JSON object and its place in a file; `prefix` tells the objects within one line apart ("turn 2: ")."""

    data: Mapping[str, Any]
    path: Path
    line: int
    prefix: str = ""

    def error(self, message: str) -> DataError:
        """A DataError that names file, line and object."""
        return DataError(f"{self.prefix}{message}", path=self.path, line=self.line)

    def require_text(self, *names: str, blank: bool = False) -> str:
        """The string of the first of these fields that is there. Raises DataError if it is blank, unless allowed."""
        for name in names:
            if name in self.data:
                value = self._check_string(name, self.data[name])
                if not blank and not value.strip():
                    raise self.error(f"{name!r} is empty")
                return value
        raise self.error(f"there is no {' or '.join(map(repr, names))}")

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
    """The ids of a file read so far, with the line of each.

    Args:
        kind: what they are the ids of, for errors.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._lines: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, name: str, row: JsonRow) -> None:
        """Add the id of a row. Raises DataError where another row has it."""
        if name in self._lines:
            raise row.error(f"the {self.kind} id {name!r} occurs twice (first in line {self._lines[name]})")
        self._lines[name] = row.line


def read_json_rows(path: Path) -> Iterator[JsonRow]:
    """Stream the JSON objects of a file, one a line. Raises DataError."""
    for line in read_lines(path):
        yield JsonRow(line.json(), line.path, line.number)
