"""JSON as its standard has it (RFC 8259): no NaN, no infinity, and no number that is too large to be computed with.

parse_json('{"score": NaN}')     raises ValueError: NaN is no number of JSON
format_json({"score": nan})      gives '{"score": null}'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

_MOST_DIGITS = 300  # a whole number of more is no float
_DEEPEST = 50  # levels that are written of data which contain themselves


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError; also for NaN, infinities, numbers beyond a float, and texts nested too deeply."""
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, parse_float=_parse_finite_float, parse_int=_parse_short_integer
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def format_json(value: Any, *, indent: int | None = None) -> str:
    """Format plain data as JSON, in which a number that is NaN or infinite is null.

    Arrays, numbers of numpy, mappings, sets and dataclasses are written as plain data, anything else as text.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=_to_plain)
    except (ValueError, TypeError, RecursionError):  # NaN; keys that are no texts; data that contain themselves
        return json.dumps(_make_writable(value, _DEEPEST), ensure_ascii=False, allow_nan=False, indent=indent)


def describe_first_problem(error: ValidationError) -> str:
    """Describe the first problem that pydantic found: "contexts.0.score: Input should be a valid number"."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _make_writable(value: Any, depth: int) -> Any:
    """Convert any value to what `json` can write; what lies deeper than `depth` levels is left out."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < 10**_MOST_DIGITS else None
    if value is None or isinstance(value, str):
        return value
    if not depth:
        return "..."
    if isinstance(value, Mapping):
        items = value.items()
        return {key if isinstance(key, str) else str(key): _make_writable(item, depth - 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [_make_writable(item, depth - 1) for item in value]
    return _make_writable(_to_plain(value), depth - 1)


def _to_plain(value: Any) -> Any:
    """Convert what `json` cannot write."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _parse_finite_float(text: str) -> float:
    if isfinite(number := float(text)):
        return number
    raise ValueError(f"the number {_shorten(text)} is too large")


def _parse_short_integer(text: str) -> int:
    if len(text) <= _MOST_DIGITS:
        return int(text)
    raise ValueError(f"the number {_shorten(text)} is too large")


def _shorten(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:10]}... ({len(text)} characters)"
