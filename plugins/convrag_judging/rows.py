"""Lines of JSON in files of judgements, with errors that name the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import read_lines

_IDS = ("turn_id", "qid", "query_id", "topic_id", "task_id", "_id", "id")


@dataclass(frozen=True)
class Row:
    """A JSON object and where it stands."""

    data: Mapping[str, Any]
    path: Path
    line: int

    def error(self, message: str) -> DataError:
        """What is wrong with it."""
        return DataError(message, path=self.path, line=self.line)

    @property
    def turn_id(self) -> str:
        """The id of the turn, under any of the names that files have for it."""
        name = next((name for name in _IDS if name in self.data), "")
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.error(f"there must be a turn_id (or {', '.join(_IDS[1:])}) that is a string or a number")
        return str(value)

    def text(self, *names: str) -> str:
        """The string under the first of these names that is there; else empty."""
        value = next((self.data[name] for name in names if self.data.get(name) is not None), "")
        if not isinstance(value, str):
            raise self.error(f"{names[0]!r} must be a string, not {value!r}")
        return value

    def texts(self, name: str) -> list[str]:
        """The list of strings under a name."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(f"{name!r} must be a list of strings")
        return value


def read_rows(path: Path) -> Iterator[Row]:
    """Stream the objects of a JSONL file. Raises DataError; a file without any line is one, too."""
    empty = True
    for line in read_lines(path):
        empty = False
        yield Row(line.json(), line.path, line.number)
    if empty:
        raise DataError("this file is empty", path=path)
