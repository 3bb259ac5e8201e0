"""Files of judgements: a JSON object a line, and errors that name the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import read_lines

_TURN_ID_KEYS = ("turn_id", "qid", "query_id", "topic_id", "task_id", "_id", "id")


@dataclass(frozen=True)
class JudgementLine:
    """The JSON object of a line, with the file and the number of the line."""

    data: Mapping[str, Any]
    path: Path
    line: int

    def error(self, message: str) -> DataError:
        """An error that names the file and the line."""
        return DataError(message, path=self.path, line=self.line)

    @property
    def turn_id(self) -> str:
        """The id of the turn, under any of the names that files have for it. Raises DataError."""
        name = next((name for name in _TURN_ID_KEYS if name in self.data), "")
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise self.error(
                f"there must be a turn_id (or {', '.join(_TURN_ID_KEYS[1:])}) that is a string or a number"
            )
        return str(value)

    def get_text(self, name: str) -> str:
        """The string under a name; empty where there is none. Raises DataError where it is no string."""
        value = self.data.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(f"{name!r} must be a string, not {value!r}")
        return value

    def get_texts(self, name: str) -> list[str]:
        """The list of strings under a name. Raises DataError where it is none."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.error(f"{name!r} must be a list of strings")
        return value


def read_judgement_lines(path: Path) -> Iterator[JudgementLine]:
    """Stream the objects of a JSONL file. Raises DataError, also where the file has no line."""
    empty = True
    for line in read_lines(path):
        empty = False
        yield JudgementLine(line.json(), line.path, line.number)
    if empty:
        raise DataError("this file is empty", path=path)


def name_annotators(paths: Sequence[Path]) -> list[str]:
    """The annotator of each file: the file's name without ending, or its whole path where two files share a name."""
    stems = [path.stem for path in paths]
    return [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]
