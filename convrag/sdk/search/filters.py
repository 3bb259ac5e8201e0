"""What filters mean, the same for every retriever: fields and their kinds, checks, and conditions.

* Names and texts are compared without regard to upper and lower case.
* A passage without a field matches no comparison of it: it matches `not year=2023` (which is
  `year!=2023`), and neither `year<2023` nor `year>=2023`.
* A list matches a comparison if at least one of its texts does. So `not` matches it if none does.
* `=` and `in` compare texts, numbers and truth values as they are written, so that 2023 and "2023"
  are the same, and so are 2 and 2.0.
* `<`, `<=`, `>` and `>=` compare numbers with numbers and dates with dates.
* A year or a month stands for its days: `date=2023-05` is any day of May, `date>2023` is 2024 and
  later.

A filter is checked against the fields of a corpus, which makes a condition of it: names as the
corpus has them, and values of the kinds that it has. Retrievers translate conditions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from convrag.api.errors import ConfigError, UnknownName
from convrag.api.filter_parser import parse_filter
from convrag.api.filters import (
    And,
    Comparison,
    Filter,
    FilterValue,
    Not,
    Or,
    format_number,
    join_filters,
)
from convrag.api.passages import FieldValue, Passage
from convrag.sdk.data.fields import make_fields, normalise_name, parse_date, parse_number

__all__ = [
    "AllOf",
    "AnyOf",
    "Condition",
    "Filter",
    "Kind",
    "Scalar",
    "Span",
    "Terms",
    "Without",
    "join_filters",
    "list_scalars",
    "list_terms",
    "make_condition",
    "matches",
    "parse_filter",
]

Kind = Literal["text", "number", "date", "boolean"]
"""The kind of a value. A field may have values of several kinds."""


class Scalar(NamedTuple):
    """A value of a field as it is compared; one of a list's.

    Args:
        key: what `=` compares.
        kind: of the value.
        number: what `<` compares, of a number.
    """

    key: str
    kind: Kind
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Passages with one of these values.

    Args:
        field: its name.
        keys: of the values, sorted.
    """

    field: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Passages with a number or a date between two bounds.

    Args:
        field: its name.
        kind: "number" compares numbers, "date" days in ISO's form.
        low: the lower bound; None where there is none.
        high: the upper bound; None where there is none.
        includes_low: whether the lower bound itself matches.
        includes_high: whether the upper bound itself matches.
    """

    field: str
    kind: Literal["number", "date"]
    low: float | str | None = None
    high: float | str | None = None
    includes_low: bool = True
    includes_high: bool = True


@dataclass(frozen=True, slots=True)
class AllOf:
    """Passages that match all parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Passages that match at least one part."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Passages that do not match a part."""

    part: Condition


Condition = Terms | Span | AllOf | AnyOf | Without

_PERIOD = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
_KINDS: Mapping[Kind, str] = {
    "text": "texts",
    "number": "numbers",
    "date": "dates",
    "boolean": "true and false",
}


def make_key(value: FieldValue | FilterValue) -> str:
    """Write a value as `=` compares it: in small letters, numbers without needless digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return format_number(value)
    return " ".join(unicodedata.normalize("NFC", str(value)).casefold().split())


def list_scalars(value: FieldValue) -> Iterator[Scalar]:
    """Yield the values of a field as they are compared: one, or each of a list."""
    for each in value if isinstance(value, list | tuple) else [value]:
        key = make_key(each)
        number = None if isinstance(each, bool) else parse_number(key)
        if number is not None:
            yield Scalar(key, "number", float(number))
        elif key in ("true", "false"):
            yield Scalar(key, "boolean")
        elif parse_date(key) == key:
            yield Scalar(key, "date")
        elif key:
            yield Scalar(key, "text")


def make_condition(filter: Filter, fields: Mapping[str, Iterable[Kind]]) -> Condition:
    """Check a filter against the fields of a corpus, and make the condition that it means.

    Args:
        filter: the filter.
        fields: name -> the kinds of its values.

    Raises:
        ConfigError: the corpus does not have a field, or compares values of other kinds.
    """
    match filter:
        case Comparison():
            return _make_comparison(filter, fields)
        case Not(part):
            return Without(make_condition(part, fields))
        case And(parts):
            return AllOf(tuple(make_condition(part, fields) for part in parts))
        case Or(parts):
            return AnyOf(tuple(make_condition(part, fields) for part in parts))
    raise ConfigError(f"{filter!r} is not a filter: use convrag.sdk.search.filters.parse_filter")


def _make_comparison(comparison: Comparison, fields: Mapping[str, Iterable[Kind]]) -> Condition:
    name = normalise_name(comparison.field)
    if name not in fields:
        raise UnknownName("the field", comparison.field, fields, _explain_missing(fields))
    kinds = set(fields[name])
    if comparison.operator in ("=", "in"):
        parts = [_make_equal(comparison, name, value, kinds) for value in comparison.values]
        return _join_equal(name, parts)
    (value,) = comparison.values
    if "number" in kinds and isinstance(value, int | float):
        return _bound(name, "number", comparison.operator, float(value), float(value))
    period = _parse_period(value)
    if "date" in kinds and period is not None:
        return _bound(name, "date", comparison.operator, *period)
    raise _refuse(comparison, name, kinds)


def _explain_missing(fields: Mapping[str, Iterable[Kind]]) -> list[str]:
    if fields:
        return []
    return [
        "The passages of this corpus have no fields: front matter, columns of CSV and keys of "
        "JSONL give them some."
    ]


def _make_equal(
    comparison: Comparison, name: str, value: FilterValue, kinds: set[Kind]
) -> Condition:
    """Make the condition that a field has a value, or a day of a period. Raises ConfigError."""
    period = _parse_period(value)
    if period is not None and "date" in kinds and period[0] != period[1]:
        in_period = Span(name, "date", *period)
        same_key = Terms(name, (make_key(value),))
        return in_period if kinds == {"date"} else AnyOf((in_period, same_key))
    is_text = isinstance(value, str) and "text" in kinds
    value_kinds = {scalar.kind for scalar in list_scalars(value)}
    if not is_text and not value_kinds & kinds:
        raise _refuse(comparison, name, kinds)
    return Terms(name, (make_key(value),))


def _join_equal(name: str, parts: list[Condition]) -> Condition:
    """Join the conditions of the values of one field into as few as there can be."""
    keys = {key for part in parts if isinstance(part, Terms) for key in part.keys}
    others = [part for part in parts if not isinstance(part, Terms)]
    joined: list[Condition] = [Terms(name, tuple(sorted(keys)))] if keys else []
    joined += others
    return joined[0] if len(joined) == 1 else AnyOf(tuple(joined))


def _bound(
    name: str,
    kind: Literal["number", "date"],
    operator: str,
    first: float | str,
    last: float | str,
) -> Span:
    """Make the condition that a field is before or after a value, or a period of days."""
    if operator == "<":
        return Span(name, kind, high=first, includes_high=False)
    if operator == "<=":
        return Span(name, kind, high=last)
    if operator == ">":
        return Span(name, kind, low=last, includes_low=False)
    return Span(name, kind, low=first)


def _parse_period(value: FilterValue) -> tuple[str, str] | None:
    """Parse a day, a month or a year: its first and its last day; None for another value."""
    found = _PERIOD.fullmatch(make_key(value))
    if found is None:
        return None
    year, month, day = found.groups()
    first = f"{year}-{month or '01'}-{day or '01'}"
    last = f"{year}-{month or '12'}-{day or '31'}"
    try:
        date.fromisoformat(first)
    except ValueError:
        return None
    return first, last  # no day is after the 31st


def _refuse(comparison: Comparison, name: str, kinds: set[Kind]) -> ConfigError:
    """Make the error of a comparison with a value of a kind that the field does not have."""
    has = " and ".join(_KINDS[kind] for kind in sorted(kinds))
    message = f"the filter `{comparison}` cannot be applied: the field {name!r} has {has}"
    is_equality = comparison.operator in ("=", "in")
    if not is_equality and not kinds & {"number", "date"}:
        return ConfigError(f"{message}, and {comparison.operator} compares numbers and dates")
    if is_equality and kinds == {"text"}:
        return ConfigError(f"{message}; put the number in quotation marks to find it as a text")
    return ConfigError(f"{message}; compare it with one of these")


def list_terms(passage: Passage) -> Iterator[tuple[str, Scalar]]:
    """Yield the fields of a passage as they are compared: each name with each of its values."""
    if not passage.fields:
        return
    for name, value in make_fields(passage.fields).items():
        for scalar in dict.fromkeys(list_scalars(value)):
            yield name, scalar


def matches(condition: Condition, fields: Mapping[str, FieldValue]) -> bool:
    """Whether the fields of a passage match a condition."""
    match condition:
        case Terms(name, keys):
            return any(scalar.key in keys for scalar in _list_field(fields, name))
        case Span(name):
            return any(_is_within(condition, scalar) for scalar in _list_field(fields, name))
        case AllOf(parts):
            return all(matches(part, fields) for part in parts)
        case AnyOf(parts):
            return any(matches(part, fields) for part in parts)
        case Without(part):
            return not matches(part, fields)


def _list_field(fields: Mapping[str, FieldValue], name: str) -> Iterator[Scalar]:
    return list_scalars(fields[name]) if name in fields else iter(())


def _is_within(span: Span, scalar: Scalar) -> bool:
    """Whether a value is between the bounds of a span."""
    if scalar.kind != span.kind:
        return False
    value = scalar.number if span.kind == "number" else scalar.key
    is_above = span.low is None or value > span.low  # type: ignore[operator]
    is_below = span.high is None or value < span.high  # type: ignore[operator]
    is_low = span.includes_low and value == span.low
    is_high = span.includes_high and value == span.high
    return (is_above or is_low) and (is_below or is_high)
