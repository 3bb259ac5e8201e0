"""JSON objects of a file, with fields that are checked as they are taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import json_type, read_lines


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object and where it stands; `place` tells objects within one line apart ("turn 2: ")."""

    data: Mapping[str, Any]
    path: Path
    line: int
    place: str = ""

    def error(self, message: str) -> DataError:
        """What is wrong with this object."""
        return DataError(f"{self.place}{message}", path=self.path, line=self.line)

    def text(self, *names: str, blank: bool = False) -> str:
        """The string under the first of these names that is there. One must be, not blank unless allowed."""
        for name in names:
            if name in self.data:
                value = self._string(name, self.data[name])
                if not blank and not value.strip():
                    raise self.error(f"{name!r} is empty")
                return value
        raise self.error(f"there is no {' or '.join(map(repr, names))}")

    def optional(self, *names: str) -> str:
        """The string under the first of these names that has a value; empty where none has."""
        name = next((name for name in names if self.data.get(name) is not None), "")
        return self._string(name, self.data[name]) if name else ""

    def rows(self, name: str, place: str) -> list[Row]:
        """The objects of the list under this name, which may be empty; `place` is what to call one of them."""
        if name not in self.data:
            raise self.error(f"there is no {name!r}")
        items = self.data[name]
        if not isinstance(items, list):
            raise self.error(f"{name!r} must be a list, not {json_type(items)}")
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict):
                raise self.error(f"{place} {number} must be an object, not {json_type(item)}")
        return [Row(item, self.path, self.line, f"{self.place}{place} {n}: ") for n, item in enumerate(items, 1)]

    def others(self, *names: str) -> dict[str, Any]:
        """The fields but for these."""
        return {name: value for name, value in self.data.items() if name not in names}

    def _string(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.error(f"{name!r} must be a string, not {json_type(value)}")
        return value


class Unique:
    """Ids seen so far, with the line of each."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._lines: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, name: str, row: Row) -> None:
        """Raise DataError where the id has been seen before."""
        if name in self._lines:
            raise row.error(f"the {self.what} {name!r} occurs twice (first in line {self._lines[name]})")
        self._lines[name] = row.line


def read_rows(path: Path) -> Iterator[Row]:
    """Stream the JSON objects of a file, one a line. Raises DataError."""
    for line in read_lines(path):
        yield Row(line.json(), line.path, line.number)
