"""Copies of arguments and results as texts, in which a test can see what has changed."""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from convrag.api.errors import ConvragError
from convrag.api.stage import Stage

_RAISED = "raised"
_LONGEST = 200


class Frozen(dict[str, str]):
    """A copy of a value: the place of each of its parts ("[0].passage.id") -> its text.

    The texts of values of different types differ.
    """

    @property
    def error(self) -> str:
        """The error that the call raised instead of returning a value; empty if it raised none."""
        return self.get(_RAISED, "")


def freeze(value: Any) -> Frozen:
    """Copy a value with all its parts.

    Iterators are read to their end; a stage is copied as its class's name. Fields that do not count
    in a comparison (`Question.stage_state`) are left out.
    """
    return Frozen(_list_parts(value, ""))


def freeze_error(error: Exception) -> Frozen:
    """Copy an exception: its type, and its message.

    The message of a ConvragError is left out, because it may name places and times.
    """
    text = type(error).__name__
    if not isinstance(error, ConvragError):
        text += f": {error}"
    return Frozen({_RAISED: text})


def _list_parts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of a value, then of its parts."""
    name = type(value).__name__
    inner: list[tuple[str, Any]] = []
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        name = repr(value)
    elif hasattr(value, "dtype") and hasattr(value, "tolist"):  # numpy arrays and numbers
        name = f"{name} of {value.dtype} {value.shape}"
        inner = [(f"[{n}]", each) for n, each in enumerate(value.reshape(-1).tolist())]
    elif is_dataclass(value) and not isinstance(value, type):
        inner = [
            (f".{each.name}", getattr(value, each.name)) for each in fields(value) if each.compare
        ]
    elif isinstance(value, Mapping):
        inner = [(f"[{key!r}]", each) for key, each in value.items()]
    elif isinstance(value, Set | Sequence | Iterator):
        items = sorted(value, key=repr) if isinstance(value, Set) else list(value)
        name = f"{name} of {len(items)}"
        inner = [(f"[{n}]", each) for n, each in enumerate(items)]
    elif not isinstance(value, Stage) and " at 0x" not in repr(value):  # addresses differ
        name = repr(value)
    yield place, name
    for below, each in inner:
        yield from _list_parts(each, place + below)


def describe_difference(
    first: Frozen, second: Frozen, name: str, labels: tuple[str, str], tolerance: float = 0.0
) -> str:
    """Describe where two copies first differ, in type or in value; empty if nowhere.

        texts[0]: 'b' before, 'a' after

    Args:
        first: one copy.
        second: the other.
        name: the name of the value.
        labels: the words for the one and for the other: ("before", "after").
        tolerance: by how much numbers may differ, as a share of the larger one.
    """
    before, after = labels
    for place in first | second:
        one = first.get(place, "nothing")
        other = second.get(place, "nothing")
        if one != other and not _are_close(one, other, tolerance):
            return f"{name}{place}: {one[:_LONGEST]} {before}, {other[:_LONGEST]} {after}"
    return ""


def find_difference(
    first: Sequence[Sequence[Frozen]],
    second: Sequence[Sequence[Frozen]],
    labels: tuple[str, str],
    tolerance: float = 0.0,
) -> str:
    """Describe where the answers of conversations first differ; empty if nowhere.

    Conversations that only one side has are left out.
    """
    for number, (one, other) in enumerate(zip(first, second, strict=False), 1):
        for turn, (left, right) in enumerate(zip(one, other, strict=True), 1):
            difference = describe_difference(left, right, "result", labels, tolerance)
            if difference:
                return f"conversation {number}, turn {turn}: {difference}"
    return ""


def _are_close(one: str, other: str, tolerance: float) -> bool:
    with suppress(ValueError):
        return tolerance > 0 and math.isclose(float(one), float(other), rel_tol=tolerance)
    return False
