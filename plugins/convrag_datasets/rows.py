"""Rows of data sets' files, whose fields are checked when they are read: errors name the file, the
line and the field.

A field is named by its path, "turns[1].question"; in a JSON array that begins with the item,
"[3].turns[1]", and in a Parquet file with the row, "row 7.question".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.data.jsonl import json_type

LARGEST_NUMBER = 10**9  # of a turn or a position: larger ones are mistakes


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
        """The fields of this object. Raises DataError where it is none."""
        if not isinstance(self.value, dict):
            raise self.error(f"this must be a JSON object, not {json_type(self.value)}")
        return self.value

    @property
    def where(self) -> str:
        """Line and place: "line 3", "line 3, turns[1]" or, in a JSON array, "[2]"."""
        return ", ".join(filter(None, [f"line {self.line}" if self.line else "", self.place]))

    def error(self, message: str) -> DataError:
        """Make a DataError that names file, line and place."""
        prefix = f"{self.place}: " if self.place else ""
        return DataError(f"{prefix}{message}", path=self.path, line=self.line or None)

    def has(self, name: str) -> bool:
        """Whether this object has a field that is not null. Raises DataError where this is no
        object.
        """
        return self.fields.get(name) is not None

    def get(self, *names: str) -> Row:
        """The first of these fields that is there and not null. Raises DataError where none is."""
        for name in names:
            if (value := self.fields.get(name)) is not None:
                return self._child(name, value)
        there = (
            ""
            if self.place
            else f"; it has {', '.join(self.fields)}. Other names: dataset.columns, corpus_columns"
        )
        raise self.error(f"there is no {' or '.join(map(repr, names))}{there}")

    def require_text(self, *names: str) -> str:
        """The text of the first of these fields that is there. Raises DataError where it is blank,
        or none is there.
        """
        field = self.get(*names)
        if not (text := field.read_text()).strip():
            raise field.error("the text is empty")
        return text

    def optional_text(self, *names: str) -> str:
        """The text of the first of these fields that is there; empty where none is. Raises
        DataError.
        """
        return self.get(*names).read_text() if any(map(self.has, names)) else ""

    def require_id(self, *names: str) -> str:
        """An id, a text or a whole number, as text. Raises DataError."""
        return self.get(*names).read_id()

    def require_number(self, name: str) -> int:
        """A whole number from 0 to a thousand million; a text of digits counts, too. Raises
        DataError.
        """
        field = self.get(name)
        text = (
            str(field.value)
            if isinstance(field.value, int | str) and not isinstance(field.value, bool)
            else ""
        )
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_NUMBER))
        if not digits or int(text) > LARGEST_NUMBER:
            raise field.error(f"this must be a whole number from 0 to {LARGEST_NUMBER}")
        return int(text)

    def require_items(self, *names: str) -> list[Row]:
        """The items of a list. Raises DataError where it has none."""
        field = self.get(*names)
        if items := field.read_items():
            return items
        raise field.error("this list is empty")

    def optional_items(self, *names: str) -> list[Row]:
        """The items of a list; none where the field is absent. Raises DataError where it is no
        list.
        """
        return self.get(*names).read_items() if any(map(self.has, names)) else []

    def list_fields(self) -> list[tuple[str, Row]]:
        """The fields of this object, in order. Raises DataError where it is none."""
        return [(key, self._child(key, value)) for key, value in self.fields.items()]

    def other_fields(self, *names: str) -> dict[str, Any]:
        """All fields except these."""
        return {name: value for name, value in self.fields.items() if name not in names}

    def read_text(self) -> str:
        """This value as a text. Raises DataError where it is none."""
        if not isinstance(self.value, str):
            raise self.error(f"this must be a string, not {json_type(self.value)}")
        return self.value

    def read_id(self) -> str:
        """This value as an id. Raises DataError where it is no text and no whole number, or empty."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not isinstance(self.value, str):
            raise self.error(
                f"this must be an id, a string or a whole number, not {json_type(self.value)}"
            )
        if not (text := self.value.strip()):
            raise self.error("the id is empty")
        return text

    def read_items(self) -> list[Row]:
        """The items of this list. Raises DataError where it is none."""
        if not isinstance(self.value, list):
            raise self.error(f"this must be a list, not {json_type(self.value)}")
        return [
            Row(value, self.path, self.line, f"{self.place}[{n}]")
            for n, value in enumerate(self.value)
        ]

    def _child(self, name: str, value: Any) -> Row:
        key = f".{name}" if name.isidentifier() else f"[{json.dumps(name, ensure_ascii=False)}]"
        return Row(
            value,
            self.path,
            self.line,
            f"{self.place}{key}".removeprefix("." if not self.place else ""),
        )


class UniqueIds:
    """The ids of a file that were read so far, with the place of each.

    Args:
        kind: what they are the ids of, for errors ("turn").
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
        kind: what they are, for errors ("turn").
        find_id: the id of a row.

    Raises:
        DataError: an id occurs twice.
    """
    ids = UniqueIds(kind)
    for row in rows:
        name = find_id(row)
        ids.add(name, row)
        yield name, row
