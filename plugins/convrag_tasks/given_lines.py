"""Files of others, read line by line so that a mistake has a place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from convrag.errors import DataError


class Line(NamedTuple):
    """A line that is not blank, and where it stands (from 1)."""

    path: Path
    number: int
    text: str

    def error(self, message: str) -> DataError:
        """A DataError that names this place."""
        return DataError(message, path=self.path, line=self.number)

    def json(self) -> dict[str, Any]:
        """The line as a JSON object. Raises DataError."""
        try:
            row = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise self.error(f"this line is no JSON ({error})") from error
        if not isinstance(row, dict):
            raise self.error("this line is no JSON object")
        return row


def lines(path: Path, suffix: str) -> Iterator[Line]:
    """Stream the lines of a file, or of a folder's files with this suffix by name, but the blank ones.

    Raises DataError where there is none, or one is no UTF-8 text.
    """
    files = sorted(path.glob(f"*{suffix}")) if path.is_dir() else [path]
    if not files:
        raise DataError(f"this folder has no *{suffix} file", path=path)
    for file in files:
        try:
            with file.open(encoding="utf-8-sig") as text:
                yield from (Line(file, number, line.strip()) for number, line in enumerate(text, 1) if line.strip())
        except UnicodeDecodeError as error:
            raise DataError(f"this is no UTF-8 text ({error.reason})", path=file) from error
        except OSError as error:
            raise DataError(f"it cannot be read ({error.strerror})", path=file) from error
