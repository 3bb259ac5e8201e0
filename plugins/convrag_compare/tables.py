"""Tables as Markdown and CSV, and how numbers are formatted in them."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from convrag.sdk.printable import format_table


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        heading: the name of each column.
        rows: the cells, as many in a row as there are columns.
        names: how many columns, from the left, are words; the others are numbers, and aligned to the right.
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def markdown(self) -> str:
        """The table in GitHub's Markdown."""
        return "\n".join(format_table([self.heading, *self.rows], names=self.names))

    def csv(self) -> str:
        """The table as comma-separated values (RFC 4180)."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows([self.heading, *self.rows])
        return text.getvalue()


def format_number(value: float, digits: int = 3) -> str:
    """A number with so many digits after the point; an empty text for NaN."""
    if value != value:
        return ""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def format_signed(value: float, digits: int = 3) -> str:
    """A number with its sign, for differences."""
    text = format_number(value, digits)
    return f"+{text}" if text and float(text) > 0 else text


def format_interval(low: float, high: float, *, sign: bool = False) -> str:
    """An interval as `[0.311, 0.402]`; an empty text for NaN."""
    show = format_signed if sign else format_number
    return f"[{show(low)}, {show(high)}]" if low == low else ""


def format_p(p: float) -> str:
    """A p-value with four digits: 20,000 sign flips give no more."""
    return "<0.0001" if p < 0.00005 else format_number(p, 4)


def format_exact(value: float) -> str:
    """A number for programs to read: the shortest text that gives it back; an empty text for NaN."""
    return "" if value != value else repr(float(value))
