"""Tables as Markdown and CSV, and the formats of numbers and names in tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from convrag.sdk.output.printable import format_table


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        heading: the name of each column.
        rows: the cells, as many in a row as there are columns.
        names: how many columns, from the left, are words; the others are numbers, and aligned to
            the right.
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown."""
        return "\n".join(format_table([self.heading, *self.rows], names=self.names))

    def csv(self) -> str:
        """Return the table as comma-separated values (RFC 4180)."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows([self.heading, *self.rows])
        return text.getvalue()


def format_number(value: float, digits: int = 3) -> str:
    """Format a number with `digits` digits after the point; an empty text for NaN."""
    if isnan(value):
        return ""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def format_signed(value: float, digits: int = 3) -> str:
    """Format a difference, with its sign."""
    text = format_number(value, digits)
    return f"+{text}" if text and float(text) > 0 else text


def format_interval(low: float, high: float, *, sign: bool = False) -> str:
    """Format an interval as `[0.311, 0.402]`; an empty text for NaN."""
    if isnan(low):
        return ""
    format_end = format_signed if sign else format_number
    return f"[{format_end(low)}, {format_end(high)}]"


def format_p(p: float) -> str:
    """Format a p-value with four digits: 20,000 sign flips give no more."""
    return "<0.0001" if p < 0.00005 else format_number(p, 4)


def format_exact(value: float) -> str:
    """Format a number for programs, with all of its digits; an empty text for NaN."""
    return "" if isnan(value) else repr(float(value))


def shorten(text: str, length: int = 22) -> str:
    """Shorten a level to a label: the last part of a path, cut to `length` characters."""
    return _shorten_path(text, 1, length)


def shorten_all(texts: Sequence[str], length: int = 22) -> dict[str, str]:
    """Shorten levels to labels that are all different: `a/corpus`, `b/corpus`."""
    distinct = list(dict.fromkeys(texts))
    for depth in range(1, 4):
        labels = [_shorten_path(text, depth, length) for text in distinct]
        if len(set(labels)) == len(distinct):
            return dict(zip(distinct, labels, strict=True))
    return {
        text: f"{shorten(text, length - 4)} #{number}" for number, text in enumerate(distinct, 1)
    }


def _shorten_path(text: str, depth: int, length: int) -> str:
    """Keep the last `depth` parts of a path, cut to `length` characters."""
    label = "/".join(text.rstrip("/").split("/")[-depth:]) or text
    return label if len(label) <= length else f"{label[: length - 3]}..."
