"""Filters of a search by the fields of passages. All are immutable plain data.

`convrag.api.filter_parser` makes them of a text; `convrag.sdk.search.filters` says what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

FilterValue = str | int | float
"""A value that a field is compared with. A date is a text: "2023-05-01", "2023-05"."""

Operator = Literal["=", "<", "<=", ">", ">=", "in"]

WORD = re.compile(r"""[^\s()=<>!,"']+""")
"""A name or a value that needs no quotation marks."""

NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
"""A value that is a number unless it is in quotation marks; longer ones are texts."""

KEYWORDS = frozenset({"and", "or", "not", "in"})


class Filter:
    """A condition on the fields of passages; `str` writes it in the language of filters."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Comparison(Filter):
    """A comparison of a field.

    Args:
        field: the name of the field, as the user wrote it.
        operator: "in" compares with several values; the others with one.
        values: the values.

    Example:
        >>> str(Comparison("product", "in", ("kettle", "tea pot")))
        'product in (kettle, "tea pot")'
    """

    field: str
    operator: Operator
    values: tuple[FilterValue, ...]

    def __str__(self) -> str:
        name = _quote(self.field)
        values = [_format_value(value) for value in self.values]
        if self.operator == "in":
            return f"{name} in ({', '.join(values)})"
        return f"{name} {self.operator} {values[0]}"


@dataclass(frozen=True, slots=True)
class Not(Filter):
    """The passages that a filter does not match.

    Example:
        >>> str(Not(Comparison("product", "=", ("kettle",))))
        'not product = kettle'
    """

    part: Filter

    def __str__(self) -> str:
        return f"not {_enclose(self.part, And, Or)}"


@dataclass(frozen=True, slots=True)
class And(Filter):
    """The passages that all parts match.

    Example:
        >>> old = Comparison("year", "<", (2000,))
        >>> str(And((Comparison("product", "=", ("kettle",)), old)))
        'product = kettle and year < 2000'
    """

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " and ".join(_enclose(part, And, Or) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or(Filter):
    """The passages that at least one of the parts matches.

    Example:
        >>> old = Comparison("year", "<", (2000,))
        >>> str(And((Or((Comparison("product", "=", ("kettle",)), old)), Not(old))))
        '(product = kettle or year < 2000) and not year < 2000'
    """

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " or ".join(_enclose(part, Or) for part in self.parts)


def join_filters(filters: Iterable[Filter | None]) -> Filter | None:
    """Join filters, so that all of them must match; None where there is none.

    Equal filters count once.

    Example:
        >>> kettles = Comparison("product", "=", ("kettle",))
        >>> str(join_filters([kettles, None, kettles]))
        'product = kettle'
    """
    parts: dict[Filter, None] = {}
    for each in filters:
        if isinstance(each, And):
            parts |= dict.fromkeys(each.parts)
        elif each is not None:
            parts[each] = None
    if len(parts) > 1:
        return And(tuple(parts))
    return next(iter(parts), None)


def _enclose(part: Filter, *kinds: type[Filter]) -> str:
    """Write a part, in parentheses if it is of one of these kinds."""
    return f"({part})" if isinstance(part, kinds) else str(part)


def _format_value(value: FilterValue) -> str:
    if not isinstance(value, str):
        return format_number(value)
    return f'"{value}"' if NUMBER.fullmatch(value) else _quote(value)


def _quote(text: str) -> str:
    """Write a text, in quotation marks if it is more than a word."""
    if WORD.fullmatch(text) and text.lower() not in KEYWORDS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def format_number(number: float) -> str:
    """Write a number without an exponent, and without a fraction if it has none.

    Example:
        >>> format_number(2023.0), format_number(2.5), format_number(1e21)
        ('2023', '2.5', '1000000000000000000000')
    """
    if isinstance(number, int) or number.is_integer():
        return str(int(number))
    text = repr(number)
    return f"{number:.17f}".rstrip("0").rstrip(".") if "e" in text else text
