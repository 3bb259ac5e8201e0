"""The fields of passages in an index, and conditions on them as queries.

Three fields of keywords hold all of them, whatever their names are, so that no corpus can make a
mapping grow: `fields.terms` has "product=kettle", `fields.dates` "day=2023-05-01", and
`fields.numbers` "year=c09f9c0000000000", whose digits sort as the numbers do.
"""

from __future__ import annotations

import struct
from typing import Any

from convrag import Passage
from convrag.sdk.search.filters import (
    AllOf,
    AnyOf,
    Condition,
    Span,
    Terms,
    Without,
    list_terms,
)

FIELDS = "fields"
"""The field of a document that is searched by filters; `_source` excludes it."""

_AFTER_ALL = "~"
"""A sign after all digits."""


def mapping_of_fields() -> dict[str, Any]:
    """Return the mapping of the field `FIELDS`."""
    names = ("terms", "numbers", "dates")
    return {"properties": {name: {"type": "keyword"} for name in names}}


def build_fields(passage: Passage) -> dict[str, Any]:
    """Build the part of a document that filters search; nothing for a passage without fields."""
    terms: list[str] = []
    numbers: list[str] = []
    dates: list[str] = []
    for name, scalar in list_terms(passage):
        terms.append(f"{name}={scalar.key}")
        if scalar.number is not None:
            numbers.append(f"{name}={encode_number(scalar.number)}")
        elif scalar.kind == "date":
            dates.append(f"{name}={scalar.key}")
    if not terms:
        return {}
    return {FIELDS: {"terms": terms, "numbers": numbers, "dates": dates}}


def build_clause(condition: Condition) -> dict[str, Any]:
    """Build the query that passages match which a condition matches."""
    match condition:
        case Terms(name, keys):
            return {"terms": {f"{FIELDS}.terms": [f"{name}={key}" for key in keys]}}
        case Span():
            return {"range": _build_range(condition)}
        case AllOf(parts):
            return {"bool": {"filter": [build_clause(part) for part in parts]}}
        case AnyOf(parts):
            clauses = [build_clause(part) for part in parts]
            return {"bool": {"should": clauses, "minimum_should_match": 1}}
        case Without(part):
            return {"bool": {"must_not": [build_clause(part)]}}


def encode_number(number: float) -> str:
    """Write a number in 16 hexadecimal digits that sort as numbers do.

    Example:
        >>> encode_number(-1.0) < encode_number(0.0) < encode_number(0.5) < encode_number(2023.0)
        True
    """
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))  # 0.0 for -0.0
    is_negative = bits >> 63
    ordered = ~bits & 0xFFFFFFFFFFFFFFFF if is_negative else bits | 1 << 63
    return f"{ordered:016x}"


def _build_range(span: Span) -> dict[str, Any]:
    """Build the bounds of a range, within the values of one field."""
    low = f"{span.field}="
    high = f"{span.field}={_AFTER_ALL}"
    if span.low is not None:
        low += _encode(span.low)
    if span.high is not None:
        high = f"{span.field}={_encode(span.high)}"
    bounds = {
        "gte" if span.includes_low else "gt": low,
        "lte" if span.includes_high else "lt": high,
    }
    return {f"{FIELDS}.{span.kind}s": bounds}


def _encode(bound: float | str) -> str:
    return bound if isinstance(bound, str) else encode_number(bound)
