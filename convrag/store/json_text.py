"""JSON as its standard has it, and JSON with marks for types that the standard does not have.

The standard (RFC 8259) has no NaN and no infinity, and numbers here are small enough to compute
with:

    parse_json('{"score": NaN}')     raises ValueError: NaN is not a JSON number
    format_json({"score": nan})      gives '{"score": null}'

With marks, `("a", 1)` is written as `{"~tuple": ["a", 1]}`, and read as a tuple again. These come
back as they are: None, truth values, numbers (inf and NaN too), texts (half a surrogate pair too),
bytes, lists, tuples, sets, dicts with any keys, paths of this system, numpy's numbers and arrays,
and objects of known dataclasses, named tuples and enums. An object of another class that is derived
from a plain type (an OrderedDict, say) comes back as one of the plain type.
"""

import json
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from math import isfinite
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from convrag.api.rows import MOST_DIGITS, convert_object, make_plain


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises ValueError; also for NaN, infinities, numbers beyond a float, and too deep nesting.
    """
    try:
        return json.loads(text, **_RULES)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def format_json(value: Any, *, indent: int | None = None) -> str:
    """Format plain data as JSON, in which a number that is NaN or infinite is null.

    Arrays, numbers of numpy, mappings, sets and dataclasses are written as plain data, anything
    else as text.
    """
    try:
        return json.dumps(
            value, ensure_ascii=False, allow_nan=False, indent=indent, default=convert_object
        )
    except (ValueError, TypeError, RecursionError):
        # There is a NaN, a key that is not a text, or data that contain themselves
        return json.dumps(make_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _parse_finite_float(text: str) -> float:
    if isfinite(number := float(text)):
        return number
    raise ValueError(f"the number {text:.20} is too large")


def _parse_short_integer(text: str) -> int:
    if len(text) <= MOST_DIGITS:
        return int(text)
    raise ValueError(f"the number {text:.20}... is too large")


_RULES: dict[str, Any] = {
    "parse_constant": _refuse_constant,
    "parse_float": _parse_finite_float,
    "parse_int": _parse_short_integer,
}


_MARK = "~"
_FIRST_BYTE = b"1"
"""The first byte of all data that `encode` returns."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
"""The types whose values are written as they are."""
_PLAIN: tuple[type, ...] = (str, int, float, list, tuple)
"""The types as which objects of derived classes are written."""


class CannotBeKept(Exception):
    """A value that cannot be written.

    Args:
        place: where the result contains it ("[0].passage.metadata.span").
        problem: what it is.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{problem} at {place}")


class MarkedJson:
    """Writes and reads values as JSON with marks, as text or compressed.

    Args:
        classes: name -> a dataclass, named tuple or enum whose objects may occur. An object is
            written with the name.
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self._names = {cls: name for name, cls in classes.items()}
        self._readers = {
            **{_MARK + name: _make_reader(cls) for name, cls in classes.items()},
            **_READERS,
        }
        self._decoder = json.JSONDecoder(object_hook=self._read_object)

    def write(self, value: Any) -> bytes:
        """Write a value as UTF-8. Raises CannotBeKept."""
        converter = _Converter(self._names)
        try:
            text = json.dumps(converter.convert(value), ensure_ascii=False, separators=(",", ":"))
        except (RecursionError, ValueError) as error:
            problem = "a value that contains itself, or is nested too deeply, or too long a number"
            raise CannotBeKept(_format_place(converter.place[:3]), problem) from error
        # Written as \ud83d\ude00, two halves would be read as one character
        return text.encode("utf-8", "surrogatepass")

    def read(self, data: bytes) -> Any:
        """Read a value. Data that are not from `write` may raise any exception."""
        return self._decoder.decode(data.decode("utf-8", "surrogatepass"))

    def encode(self, value: Any) -> bytes:
        """Convert a result to bytes, compressed. Raises CannotBeKept."""
        return _FIRST_BYTE + zlib.compress(self.write(value), 1)

    def decode(self, data: bytes) -> Any:
        """Convert bytes back to the result. Damaged data may raise any exception."""
        return self.read(zlib.decompress(data.removeprefix(_FIRST_BYTE)))

    def split(self, rows: Any) -> list[Any]:
        """Split the result of a method that returns a row for each item. Raises CannotBeKept."""
        try:
            return list(rows)
        except TypeError as error:
            raise CannotBeKept("", f"{type(rows).__name__} instead of a list") from error

    def join(self, rows: Sequence[Any]) -> Any:
        """Join rows to what the method returns."""
        return list(rows)

    def _read_object(self, row: dict[str, Any]) -> Any:
        if len(row) != 1:
            return row
        ((mark, value),) = row.items()
        return self._readers[mark](value) if mark.startswith(_MARK) else row


class _Converter:
    """Converts a value to JSON's types; `place` leads to the part that is being converted."""

    def __init__(self, names: Mapping[type, str]) -> None:
        self._names = names
        self.place: list[Any] = []

    def convert(self, value: Any) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is list:
            return self._convert_items(value)
        if kind is dict:
            return self._convert_dict(value)
        if kind is tuple:
            return {"~tuple": self._convert_items(value)}
        if name := self._names.get(kind):
            return {_MARK + name: self._convert_object(value)}
        return self._convert_other(value)

    def _convert_items(self, items: Iterable[Any]) -> list[Any]:
        return [self._convert_at(number, item) for number, item in enumerate(items)]

    def _convert_at(self, place: Any, value: Any) -> Any:
        self.place.append(place)
        converted = self.convert(value)
        self.place.pop()
        return converted

    def _convert_dict(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        if all(type(key) is str and not key.startswith(_MARK) for key in row):
            return {key: self._convert_at(key, value) for key, value in row.items()}
        pairs = [[self.convert(key), self._convert_at(key, value)] for key, value in row.items()]
        return {"~dict": pairs}

    def _convert_object(self, value: Any) -> Any:
        """Convert an object of a known class."""
        if isinstance(value, Enum):
            return self.convert(value.value)
        if isinstance(value, tuple):
            return self._convert_items(value)
        cls: Any = type(value)
        return {name: self._convert_at(name, getattr(value, name)) for name, _ in _list_fields(cls)}

    def _convert_other(self, value: Any) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy and isinstance(value, numpy.generic | numpy.ndarray):
            return self._convert_numpy(value, numpy)
        if isinstance(value, bytes):
            return {"~bytes": b64encode(value).decode()}
        if isinstance(value, set | frozenset):
            items = self._convert_items(value)
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
            return {"~set" if isinstance(value, set) else "~frozenset": items}
        if isinstance(value, PurePath):
            return {"~path": ["Path" if isinstance(value, Path) else "PurePosixPath", str(value)]}
        if isinstance(value, Enum) or is_dataclass(value) or hasattr(value, "_fields"):
            self._refuse(
                f"an object of {type(value).__name__}, "
                "a class that the return annotation does not name"
            )
        for plain in _PLAIN:
            if isinstance(value, plain):
                return self.convert(plain(value))
        if isinstance(value, Mapping):
            return self._convert_dict(value)
        return self._refuse(f"an object of {type(value).__module__}.{type(value).__qualname__}")

    def _convert_numpy(self, value: Any, numpy: Any) -> dict[str, Any]:
        array = numpy.asarray(value)
        if array.dtype.kind in "OV":
            self._refuse(f"an array of {array.dtype}")
        row = [array.dtype.str, list(array.shape), b64encode(array.tobytes()).decode()]
        return {"~array" if isinstance(value, numpy.ndarray) else "~scalar": row}

    def _refuse(self, problem: str) -> None:
        raise CannotBeKept(_format_place(self.place), problem)


def _format_place(steps: Iterable[Any]) -> str:
    """Format the keys, fields and positions that lead to a value."""
    parts = [f".{step}" if isinstance(step, str) else f"[{step!r:.60}]" for step in steps]
    return "".join(parts).removeprefix(".")


def _read_array(row: tuple[str, list[int], str]) -> Any:
    import numpy as np

    dtype, shape, data = row
    return np.frombuffer(b64decode(data), dtype=dtype).reshape(shape).copy()


@cache
def _list_fields(cls: Any) -> list[tuple[str, bool]]:
    """List the fields of a dataclass: name, and whether the constructor takes it."""
    return [(field.name, field.init) for field in fields(cls)]


def _make_reader(cls: Any) -> Callable[[Any], Any]:
    """Return a function that makes an object of a known class from what `_convert_object` gave."""
    if issubclass(cls, Enum):
        return lambda value: cls(value)
    if issubclass(cls, tuple):
        return lambda items: cls(*items)
    return partial(_make_dataclass, cls)


def _make_dataclass(cls: type, row: Mapping[str, Any]) -> Any:
    """Make an object of a dataclass, without fields that the class no longer has."""
    known = [(name, init) for name, init in _list_fields(cls) if name in row]
    made = cls(**{name: row[name] for name, init in known if init})
    for name, init in known:
        if not init:
            object.__setattr__(made, name, row[name])
    return made


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "~tuple": tuple,
    "~dict": dict,
    "~set": set,
    "~frozenset": frozenset,
    "~bytes": b64decode,
    "~path": lambda row: Path(row[1]) if row[0] == "Path" else PurePosixPath(row[1]),
    "~array": _read_array,
    "~scalar": lambda row: _read_array(row)[()],
}
