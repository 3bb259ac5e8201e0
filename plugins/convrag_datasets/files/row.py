"""A row of a data set's file, whose fields are checked as they are read.

Errors name the file, the line and the field. A field is named by its path, "turns[1].question". In
a JSON array the path begins with the item, "[3].turns[1]", and in a Parquet file with the row,
"row 7.question".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.data.jsonl import json_type

_LARGEST_NUMBER = 10**9
"""The largest number of a turn or a position: larger ones are mistakes."""


@dataclass(frozen=True, slots=True)
class Row:
    """A value of a file, most often an object: a row of a table, a JSON object, or a part of one.

    Args:
        value: plain data.
        path: the file.
        line: from 1; 0 in a file that is not read by lines.
        place: the path to the value within the line or the file; empty for all of a line.
    """

    value: Any
    path: Path
    line: int = 0
    place: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of this object. Raises DataError where it is not an object."""
        if not isinstance(self.value, dict):
            raise self.error(f"this must be a JSON object, not {json_type(self.value)}")
        return self.value

    @property
    def where(self) -> str:
        """Line and place: "line 3", "line 3, turns[1]" or, in a JSON array, "[2]"."""
        parts = []
        if self.line:
            parts.append(f"line {self.line}")
        if self.place:
            parts.append(self.place)
        return ", ".join(parts)

    def error(self, message: str) -> DataError:
        """Make a DataError that names file, line and place."""
        prefix = f"{self.place}: " if self.place else ""
        return DataError(f"{prefix}{message}", path=self.path, line=self.line or None)

    def has(self, name: str) -> bool:
        """Whether this object has a field that is not null.

        Raises DataError where this is not an object.
        """
        return self.fields.get(name) is not None

    def get(self, *names: str) -> Row:
        """Return the first of these fields that is not null. Raises DataError where none is."""
        for name in names:
            value = self.fields.get(name)
            if value is not None:
                return self._child(name, value)
        wanted = " or ".join(repr(name) for name in names)
        advice = ""
        if not self.place:
            known = ", ".join(self.fields)
            advice = f"; it has {known}. Other names: dataset.columns, corpus_columns"
        raise self.error(f"there is no {wanted}{advice}")

    def require_text(self, *names: str) -> str:
        """Return the text of the first of these fields that is there.

        Raises DataError where it is blank, or none is there.
        """
        field = self.get(*names)
        text = field.read_text()
        if not text.strip():
            raise field.error("the text is empty")
        return text

    def optional_text(self, *names: str) -> str:
        """Return the text of the first of these fields that is there; empty where none is.

        Raises DataError where it is not a text.
        """
        return self.get(*names).read_text() if self._has_any(names) else ""

    def require_id(self, *names: str) -> str:
        """Return an id, a text or a whole number, as text. Raises DataError."""
        return self.get(*names).read_id()

    def require_number(self, name: str) -> int:
        """Return a whole number from 0 to a thousand million, which may be a text of digits.

        Raises DataError where it is not one.
        """
        field = self.get(name)
        if isinstance(field.value, bool) or not isinstance(field.value, int | str):
            number = None
        else:
            number = _parse_number(str(field.value))
        if number is None:
            raise field.error(f"this must be a whole number from 0 to {_LARGEST_NUMBER}")
        return number

    def require_items(self, *names: str) -> list[Row]:
        """Return the items of a list. Raises DataError where it has none."""
        field = self.get(*names)
        items = field.read_items()
        if not items:
            raise field.error("this list is empty")
        return items

    def optional_items(self, *names: str) -> list[Row]:
        """Return the items of a list; none where the field is absent.

        Raises DataError where it is not a list.
        """
        return self.get(*names).read_items() if self._has_any(names) else []

    def list_fields(self) -> list[tuple[str, Row]]:
        """Return the fields of this object in order. Raises DataError where it is not one."""
        return [(key, self._child(key, value)) for key, value in self.fields.items()]

    def other_fields(self, *names: str) -> dict[str, Any]:
        """Return all fields except these."""
        return {name: value for name, value in self.fields.items() if name not in names}

    def read_text(self) -> str:
        """Return this value as a text. Raises DataError where it is not one."""
        if not isinstance(self.value, str):
            raise self.error(f"this must be a string, not {json_type(self.value)}")
        return self.value

    def read_id(self) -> str:
        """Return this value as an id, a text or a whole number. Raises DataError."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not isinstance(self.value, str):
            raise self.error(
                f"this must be an id, a string or a whole number, not {json_type(self.value)}"
            )
        text = self.value.strip()
        if not text:
            raise self.error("the id is empty")
        return text

    def read_items(self) -> list[Row]:
        """Return the items of this list. Raises DataError where it is not one."""
        if not isinstance(self.value, list):
            raise self.error(f"this must be a list, not {json_type(self.value)}")
        return [
            Row(value, self.path, self.line, f"{self.place}[{number}]")
            for number, value in enumerate(self.value)
        ]

    def _has_any(self, names: Iterable[str]) -> bool:
        return any(self.has(name) for name in names)

    def _child(self, name: str, value: Any) -> Row:
        if not name.isidentifier():
            place = f"{self.place}[{json.dumps(name, ensure_ascii=False)}]"
        elif self.place:
            place = f"{self.place}.{name}"
        else:
            place = name
        return Row(value, self.path, self.line, place)


def _parse_number(text: str) -> int | None:
    """Parse a whole number; None for a text that is not one, and for one that is too large."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST_NUMBER))
    if not is_number or int(text) > _LARGEST_NUMBER:
        return None
    return int(text)


class UniqueIds:
    """The ids of a file that were read so far, with the place of each.

    Args:
        kind: of the things that have the ids, for errors ("turn").
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._places: dict[str, int | str] = {}

    def add(self, name: str, row: Row) -> None:
        """Add the id of a row. Raises DataError where another row has it."""
        if name in self._places:
            first = self._places[name]
            place = f"line {first}" if isinstance(first, int) else first
            raise row.error(f"the {self.kind} id {name!r} occurs twice (first in {place})")
        self._places[name] = row.where if row.place else row.line  # corpora are large


def with_ids(
    rows: Iterable[Row], kind: str, find_id: Callable[[Row], str]
) -> Iterator[tuple[str, Row]]:
    """Yield rows with their ids.

    Args:
        rows: of one file, or of one object.
        kind: of the things that have the ids, for errors ("turn").
        find_id: returns the id of a row.

    Raises:
        DataError: an id occurs twice.
    """
    ids = UniqueIds(kind)
    for row in rows:
        name = find_id(row)
        ids.add(name, row)
        yield name, row
