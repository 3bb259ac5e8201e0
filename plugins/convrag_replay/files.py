"""Recorded files: one file, or a folder of them, read line by line so that a mistake has a place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from convrag.errors import DataError
from convrag.identity import digest, file_hash


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
        except ValueError as error:
            raise self.error(f"this line is no JSON ({error})") from error
        if not isinstance(row, dict):
            raise self.error("this line is no JSON object")
        return row


def files(path: Path, *suffixes: str) -> list[Path]:
    """The file itself, or those of a folder with one of the suffixes, by name. Raises DataError where there is none."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError("there is no such file or folder", path=path)
    if found := sorted(file for file in path.iterdir() if file.suffix in suffixes and file.is_file()):
        return found
    raise DataError(f"this folder has no {' or '.join(f'*{suffix}' for suffix in suffixes)} file", path=path)


def lines(path: Path) -> Iterator[Line]:
    """Stream a file's lines but the blank ones. Raises DataError where it cannot be read, or is no UTF-8."""
    number = 0
    try:
        with path.open("rb") as file:
            for number, data in enumerate(file, start=1):
                if text := data.decode("utf-8-sig" if number == 1 else "utf-8").strip():
                    yield Line(path, number, text)
    except UnicodeDecodeError as error:
        raise DataError(f"this is no UTF-8 text ({error.reason})", path=path, line=number) from error
    except OSError as error:
        raise DataError(f"it cannot be read ({error.strerror})", path=path) from error


def hash_files(path: Path, *suffixes: str) -> str:
    """A hash of all that `files` finds; empty where it finds nothing."""
    try:
        return digest([[file.name, file_hash(file)] for file in files(path, *suffixes)])
    except DataError:
        return ""
