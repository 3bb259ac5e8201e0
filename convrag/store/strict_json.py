"""JSON as its standard has it (RFC 8259): no NaN, no infinity, and no number that is too large to be computed with.

parse_json('{"score": NaN}')     raises ValueError: NaN is no number of JSON
format_json({"score": nan})      gives '{"score": null}'
"""

import json
from math import isfinite
from typing import Any

from convrag.api.rows import MOST_DIGITS, convert_object, make_plain


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError; also for NaN, infinities, numbers beyond a float, and texts nested too deeply."""
    try:
        return json.loads(text, **_RULES)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def make_decoder() -> json.JSONDecoder:
    """Make a decoder that refuses what `parse_json` does; it raises RecursionError for what is nested too deeply."""
    return json.JSONDecoder(**_RULES)


def format_json(value: Any, *, indent: int | None = None) -> str:
    """Format plain data as JSON, in which a number that is NaN or infinite is null.

    Arrays, numbers of numpy, mappings, sets and dataclasses are written as plain data, anything else as text.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=convert_object)
    except (ValueError, TypeError, RecursionError):  # NaN; keys that are no texts; data that contain themselves
        return json.dumps(make_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _parse_finite_float(text: str) -> float:
    if isfinite(number := float(text)):
        return number
    raise ValueError(f"the number {_shorten(text)} is too large")


def _parse_short_integer(text: str) -> int:
    if len(text) <= MOST_DIGITS:
        return int(text)
    raise ValueError(f"the number {_shorten(text)} is too large")


def _shorten(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:10]}... ({len(text)} characters)"


_RULES: dict[str, Any] = {
    "parse_constant": _refuse_constant,
    "parse_float": _parse_finite_float,
    "parse_int": _parse_short_integer,
}
