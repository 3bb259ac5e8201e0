"""A table as Markdown, CSV and LaTeX, and numbers as they stand in one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_MINUS = re.compile(r"-(?=\d)")


@dataclass(frozen=True)
class Table:
    """A heading and rows of text; the first `names` columns are words, the others numbers."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def markdown(self) -> str:
        """As a table of GitHub's Markdown."""
        rule = ["---" if index < self.names else "---:" for index in range(len(self.heading))]
        cells = (self.heading, rule, *self.rows)
        return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in cells)

    def csv(self) -> str:
        """As comma-separated values, by RFC 4180 but for the line ends, which are plain."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([self.heading, *self.rows])
        return text.getvalue()

    def latex(self) -> str:
        """As a tabular, to be input into a table; needs no package but booktabs."""
        columns = "l" * self.names + "r" * (len(self.heading) - self.names)
        lines = [
            "% \\usepackage{booktabs}",
            f"\\begin{{tabular}}{{{columns}}}",
            "\\toprule",
            _latex_row(self.heading, len(self.heading)),
            "\\midrule",
            *(_latex_row(row, self.names) for row in self.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
        return "\n".join(lines) + "\n"


def number(value: float, digits: int = 3) -> str:
    """With so many digits; nothing for what is not there."""
    if value != value:
        return ""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def signed(value: float, digits: int = 3) -> str:
    """With its sign, so that a difference looks like one."""
    text = number(value, digits)
    return f"+{text}" if text and float(text) > 0 else text


def interval(low: float, high: float, *, sign: bool = False) -> str:
    """`[0.311, 0.402]`."""
    show = signed if sign else number
    return f"[{show(low)}, {show(high)}]" if low == low else ""


def p_value(p: float) -> str:
    """With four digits, as 20,000 flips support."""
    return "<0.0001" if p < 0.00005 else number(p, 4)


def exact(value: float) -> str:
    """For a file that a program reads: the shortest text that gives the number back."""
    return "" if value != value else repr(float(value))


def _latex_row(cells: Sequence[str], names: int) -> str:
    escaped = ["".join(_LATEX.get(sign, sign) for sign in cell) for cell in cells]
    numbers = [_MINUS.sub("$-$", cell) for cell in escaped[names:]]
    return " & ".join([*escaped[:names], *numbers]) + r" \\"
