"""Plain data: what JSON can hold, and in words where data that were read are something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

MOST_DIGITS = 300
"""The digits of a whole number; one of more is no float."""

_FIRST_TOO_LARGE = 10**MOST_DIGITS

_DEEPEST = 50  # levels that are kept of data which contain themselves


def make_plain(value: Any, depth: int = _DEEPEST) -> Any:
    """Convert any value to plain data. A number that is NaN, infinite or no float becomes None.

    Arrays, numbers of numpy, mappings, sets and dataclasses become plain data, anything else becomes text. What lies
    deeper than `depth` levels is left out.
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int):
        return value if -_FIRST_TOO_LARGE < value < _FIRST_TOO_LARGE else None
    if value is None or isinstance(value, str):
        return value
    if not depth:
        return "..."
    if isinstance(value, Mapping):
        items = value.items()
        return {key if isinstance(key, str) else str(key): make_plain(item, depth - 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [make_plain(item, depth - 1) for item in value]
    return make_plain(convert_object(value), depth - 1)


def convert_object(value: Any) -> Any:
    """Convert an object that JSON does not know: to a list, a dictionary or a number, or else to text.

    What it holds stays as it is.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return str(value)


def describe_first_problem(error: ValidationError) -> str:
    """Describe the first problem that pydantic found: "contexts.0.score: Input should be a valid number"."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])
