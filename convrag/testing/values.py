"""Copies of arguments and results as plain data, in which a test can see what has changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from convrag.api.errors import ConvragError
from convrag.api.stage import Stage
from convrag.api.types import Conversation, Passage, Turn

_SHARED = (Passage, Turn, Conversation)
"""Rows of a data set: stages hand on the objects that they were given, and change none."""


_ERROR = "error"


class Frozen(NamedTuple):
    """A copy of a value: the name of its type, and its contents as plain data (parts are copies in turn)."""

    type: str
    contents: Any

    @property
    def is_error(self) -> bool:
        """Whether the call raised an error instead of returning a value."""
        return self.type == _ERROR

    def __repr__(self) -> str:
        """Show the value as Python would, cut to 200 characters."""
        return _shorten(_show(self))


def freeze(value: Any) -> Frozen:
    """Copy a value with all its parts. Iterators are read to their end; a stage is copied as its class's name.

    Fields that do not count in a comparison (`Question.stage_state`) are left out.
    """
    name = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return Frozen(name, value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # numpy arrays and numbers
        flat = value.reshape(-1).tolist()
        return Frozen(f"{name} of {value.dtype} {value.shape}", [Frozen("", each) for each in flat])
    if is_dataclass(value) and not isinstance(value, type):
        return Frozen(name, {each.name: freeze(getattr(value, each.name)) for each in fields(value) if each.compare})
    if isinstance(value, Mapping):
        return Frozen(name, {key: freeze(each) for key, each in value.items()})
    if isinstance(value, Set):
        return Frozen(name, sorted((freeze(each) for each in value), key=repr))
    if isinstance(value, (Sequence, Iterator)):
        return Frozen(name, [freeze(each) for each in value])
    shown = "" if isinstance(value, Stage) or " at 0x" in repr(value) else repr(value)  # an address is no value
    return Frozen(name, shown)


def describe_difference(
    first: Frozen, second: Frozen, name: str, labels: tuple[str, str], tolerance: float = 0.0
) -> str:
    """Say where two copies first differ, in type or in value: "texts[0]: 'b' before, 'a' after". Empty if nowhere.

    Args:
        first: one copy.
        second: the other.
        name: what the value is called.
        labels: what to say of the one and of the other: ("before", "after").
        tolerance: by how much numbers may differ, as a share of the larger one.
    """

    def find(one: Frozen, other: Frozen, name: str) -> str:
        if one.type != other.type:
            return tell(name, one, other, lambda each: f"{each!r} ({each.type})")
        if isinstance(one.contents, dict):
            parts = dict.fromkeys([*one.contents, *other.contents])
            absent = Frozen("nothing", "nothing")
            named = ((f"{name}.{part}" if one.type[:1].isupper() else f"{name}[{part!r}]", part) for part in parts)
            found = (find(one.contents.get(p, absent), other.contents.get(p, absent), path) for path, p in named)
            return next(filter(None, found), "")
        if isinstance(one.contents, list):
            if len(one.contents) == len(other.contents):
                pairs = zip(one.contents, other.contents, strict=True)
                found = (find(*pair, f"{name}[{n}]") for n, pair in enumerate(pairs))
                difference = next(filter(None, found), "")
                moved = difference and sorted(one.contents, key=repr) == sorted(other.contents, key=repr)
                return tell(f"{name} is in another order", one, other) if moved else difference
            return tell(name, one, other)
        return "" if _are_equal(one.contents, other.contents, tolerance) else tell(name, one, other)

    def tell(name: str, one: Frozen, other: Frozen, show: Callable[[Frozen], str] = repr) -> str:
        return f"{name}: {show(one)} {labels[0]}, {show(other)} {labels[1]}"

    return find(first, second, name)


def freeze_error(error: Exception) -> Frozen:
    """Copy an exception: its type, and its message unless that is written for users and may name places and times."""
    name = type(error).__name__
    return Frozen(_ERROR, name if isinstance(error, ConvragError) else f"{name}: {error}")


def find_difference(
    first: Sequence[Sequence[Frozen]],
    second: Sequence[Sequence[Frozen]],
    labels: tuple[str, str],
    tolerance: float = 0.0,
) -> str:
    """Say where the answers of conversations first differ, as far as there are answers of both; empty if nowhere."""
    for number, (one, other) in enumerate(zip(first, second, strict=False), 1):
        for turn, pair in enumerate(zip(one, other, strict=True), 1):
            if difference := describe_difference(*pair, "result", labels, tolerance):
                return f"conversation {number}, turn {turn}: {difference}"
    return ""


def overwrite(value: Any) -> None:
    """Write into the lists, dictionaries, sets and arrays of a result, as its receiver may.

    Passages, turns and conversations are left alone: they are shared, and nobody changes them.
    """
    if isinstance(value, _SHARED):
        return
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            overwrite(getattr(value, each.name))
    elif hasattr(value, "dtype") and hasattr(value, "flags"):
        if value.flags.writeable:
            value.fill(7)
    elif isinstance(value, MutableMapping):
        for each in value.values():
            overwrite(each)
        value.clear()
        value["overwritten"] = {}
    elif isinstance(value, MutableSequence):
        for each in value:
            overwrite(each)
        value.clear()
        value.append("overwritten")
    elif isinstance(value, MutableSet):
        value.clear()
    elif isinstance(value, tuple):
        for each in value:
            overwrite(each)


def _are_equal(one: Any, other: Any, tolerance: float) -> bool:
    """Compare two plain values; NaN equals NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (one != one and other != other) or math.isclose(one, other, rel_tol=tolerance)
    return bool(one == other)


def _show(frozen: Frozen) -> str:
    contents = frozen.contents
    if isinstance(contents, dict):
        if frozen.type[:1].isupper():
            return f"{frozen.type}({', '.join(f'{name}={_show(each)}' for name, each in contents.items())})"
        return f"{{{', '.join(f'{name!r}: {_show(each)}' for name, each in contents.items())}}}"
    if isinstance(contents, list):
        return f"[{', '.join(map(_show, contents))}]"
    return repr(contents) if frozen.type in ("str", "bytes", "float", "int", "bool", "NoneType", "") else str(contents)


def _shorten(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} ... {text[-limit // 2 :]}"
