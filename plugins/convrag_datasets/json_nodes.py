"""Values of a JSON file, checked when they are read; errors name the path: [3].turn[2].raw_utterance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.jsonl import json_type, read_lines
from convrag_datasets.json_stream import Keys, format_keys, is_json_list, read_values

LARGEST_NUMBER = 10**9  # of a turn or a position: larger ones are mistakes


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value of a JSON file, the keys that lead to it, and the line where the streamed value around it begins."""

    value: Any
    path: Path
    line: int
    keys: Keys = ()

    @property
    def place(self) -> str:
        """The keys as a path, "[3].turn[2]"; empty for the line of a JSONL file."""
        return format_keys(self.keys)

    def error(self, message: str) -> DataError:
        """Make a DataError that names file, line and path."""
        return DataError(f"{self.place}: {message}" if self.keys else message, path=self.path, line=self.line)

    def has(self, name: str) -> bool:
        """Whether this object has a field that is not null. Raises DataError where this is no object."""
        return self._fields().get(name) is not None

    def get(self, *names: str) -> JsonNode:
        """Get the first of these fields that is there and not null. Raises DataError where none is."""
        fields = self._fields()
        name = next((name for name in names if fields.get(name) is not None), None)
        if name is None:
            raise self.error(f"there is no {' or '.join(map(repr, names))}")
        return self._child(name, fields[name])

    def require_text(self, *names: str) -> str:
        """The text of the first of these fields that is there. Raises DataError where it is blank, or none is there."""
        node = self.get(*names)
        if not (text := node.read_text()).strip():
            raise node.error("the text is empty")
        return text

    def optional_text(self, *names: str) -> str:
        """The text of the first of these fields that is there; empty where none is. Raises DataError."""
        return self.get(*names).read_text() if any(map(self.has, names)) else ""

    def require_id(self, *names: str) -> str:
        """An id, a text or a whole number, as text. Raises DataError."""
        return self.get(*names).read_id()

    def require_number(self, *names: str) -> int:
        """A whole number, from 0; a text of digits counts, too. Raises DataError."""
        return self.get(*names).read_number()

    def require_items(self, *names: str) -> list[JsonNode]:
        """The items of a list, which may be empty. Raises DataError where there is no such list."""
        return self.get(*names).read_items()

    def optional_items(self, *names: str) -> list[JsonNode]:
        """The items of a list; none where the field is absent. Raises DataError where it is no list."""
        return self.require_items(*names) if any(map(self.has, names)) else []

    def optional_fields(self, name: str) -> list[tuple[str, JsonNode]]:
        """The fields of an object, in order; none where there is no such object. Raises DataError."""
        if not self.has(name):
            return []
        node = self.get(name)
        return [(key, node._child(key, value)) for key, value in node._fields().items()]

    def read_text(self) -> str:
        """This value as a text. Raises DataError where it is none."""
        if not isinstance(self.value, str):
            raise self.error(f"this must be a string, not {json_type(self.value)}")
        return self.value

    def read_scalar(self) -> str:
        """This text, number or truth value as a text. Raises DataError where it is anything else."""
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return str(self.value) if isinstance(self.value, int | float) else self.read_text()

    def read_id(self) -> str:
        """This value as an id. Raises DataError where it is no text and no whole number, or empty."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not isinstance(self.value, str) or not self.value.strip():
            given = "empty" if isinstance(self.value, str) else json_type(self.value)
            raise self.error(f"this must be an id, a string or a whole number, not {given}")
        return self.value.strip()

    def read_number(self) -> int:
        """This value as a whole number, from 0 to a thousand million. Raises DataError."""
        text = self.value if isinstance(self.value, str) else ""
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_NUMBER))
        number = int(text) if digits else self.value
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= LARGEST_NUMBER:
            shown = f"the number {number}" if isinstance(number, int | float) else json_type(self.value)
            raise self.error(f"this must be a whole number from 0 to {LARGEST_NUMBER}, not {shown}")
        return number

    def read_items(self) -> list[JsonNode]:
        """The items of this list. Raises DataError where it is none."""
        if not isinstance(self.value, list):
            raise self.error(f"this must be a list, not {json_type(self.value)}")
        return [self._child(number, value) for number, value in enumerate(self.value)]

    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self.value, list)

    def _fields(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error(f"this must be an object, not {json_type(self.value)}")
        return self.value

    def _child(self, key: str | int, value: Any) -> JsonNode:
        return JsonNode(value, self.path, self.line, (*self.keys, key))


class UniqueNames:
    """The ids that were read so far, and where.

    Args:
        kind: what they are the ids of, for errors ("turn").
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._nodes: dict[str, JsonNode] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, name: str, node: JsonNode) -> None:
        """Add an id. Raises DataError where it was there before."""
        if first := self._nodes.get(name):
            where = f"first {first.place or 'in this file'}, line {first.line}"
            raise node.error(f"the {self.kind} {name!r} occurs twice ({where})")
        self._nodes[name] = JsonNode(None, node.path, node.line, node.keys)


def read_nodes(path: Path, depth: int) -> Iterator[JsonNode]:
    """Stream the values `depth` levels deep in a JSON file. Raises DataError (see `read_values`)."""
    for keys, value, line in read_values(path, depth):
        yield JsonNode(value, path, line, keys)


def read_list(path: Path) -> Iterator[JsonNode]:
    """Stream the items of a JSON list. Raises DataError; also where the file holds something else."""
    for node in read_nodes(path, 1):
        if isinstance(node.keys[0], str):
            raise DataError("this file must hold a list, [{...}, ...], not an object", path=path, line=1)
        yield node


def read_objects(path: Path) -> Iterator[JsonNode]:
    """Stream the objects of a JSON list or of a JSONL file, whichever it is. Raises DataError."""
    if is_json_list(path):
        yield from read_list(path)
    else:
        for line in read_lines(path):
            yield JsonNode(line.json(), path, line.number)
