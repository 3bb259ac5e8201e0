"""Tables of reStructuredText: those that are drawn with lines, and those that are lists."""

import re
import unicodedata
from collections.abc import Sequence

from convrag_documents.readers.delimited_rows import split_rows

GRID_BORDER = re.compile(r"\+(?:[-=]+\+)+$")
SIMPLE_BORDER = re.compile(r"=+(?: +=+)+$")
_BORDER_PART = re.compile(r"\+[-=]+\+")
_COLUMN = re.compile(r"[=-]+")
_LIST_ROW = re.compile(r"( *[*+-] +)[*+-](?: +(.*)|$)")
_LIST_CELL = re.compile(r"( +)[*+-](?: +(.*)|$)")
_WIDE_SIGN = "\0"
"""Stands after a letter that takes two columns, so that columns are characters."""

_MOST_COLUMNS = 100
"""Columns of a drawn table; a wider one is read as text."""

_LONGEST_REPEATED = 100
"""Characters of a merged cell that stand in each of its places; a longer text stands once."""


def read_grid(lines: Sequence[str]) -> list[list[str]] | None:
    """Read a table drawn with "+---+"; merged cells stand in each place. None where it is not one.

    Args:
        lines: from the upper to the lower border, without indentation.
    """
    padded = [_pad(line) for line in lines]
    edges = sorted({place for line in padded for place in _find_edges(line)})
    width = len(edges) - 1
    if not 1 <= width <= _MOST_COLUMNS:
        return None
    head = 0
    rows: list[list[_Cell]] = []
    cells = [_Cell() for _ in range(width)]
    for line in padded[1:]:
        closed = [_is_border(line, edges, column) for column in range(width)]
        if any(closed):
            rows.append(cells)
            cells = [
                _Cell() if is_closed else cell
                for cell, is_closed in zip(cells, closed, strict=True)
            ]
        _add_line(cells, closed, line, edges)
        if _is_head_border(line):
            head = len(rows)
    texts = [[cell.read() for cell in row] for row in rows]
    return [row for row in _join_head(texts, head) if any(row)]


class _Cell:
    """A cell that is being read.

    Attributes:
        lines: its text.
        left: the cell that it is merged with; None for a cell of its own.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left: _Cell | None = None
        self._text: str | None = None
        """Its text, once it was read."""

    def read(self) -> str:
        """Return its text; a long one is returned only once."""
        if self.left is not None:
            return self.left.read()
        if self._text is not None:
            return self._text if len(self._text) <= _LONGEST_REPEATED else ""
        self._text = " ".join(" ".join(self.lines).replace(_WIDE_SIGN, "").split())
        return self._text


def _find_edges(line: str) -> list[int]:
    """Return the places of the corners in a line that is a border in some column."""
    if not _BORDER_PART.search(line):
        return []
    return [place for place, sign in enumerate(line) if sign == "+"]


def _is_border(line: str, edges: Sequence[int], column: int) -> bool:
    """Whether a line is the border below the cell of a column."""
    segment = line[edges[column] + 1 : edges[column + 1]]
    return segment != "" and segment[0] in "-=" and not segment.strip("-=+")


def _is_head_border(line: str) -> bool:
    """Whether a line of a grid stands below the names of the columns."""
    return line.startswith("+=")


def _join_head(rows: list[list[str]], head: int) -> list[list[str]]:
    """Join the names of columns, which stand in the first rows, into one row: "depth, summer"."""
    if head < 2:
        return rows
    columns = zip(*rows[:head], strict=True)
    names = [", ".join(dict.fromkeys(filter(None, levels))) for levels in columns]
    return [names, *rows[head:]]


def _add_line(
    cells: Sequence[_Cell], closed: Sequence[bool], line: str, edges: Sequence[int]
) -> None:
    """Add a line of text to the cells that it crosses."""
    owner = cells[0]
    for column, cell in enumerate(cells):
        if closed[column]:
            continue
        left = edges[column]
        text = line[left + 1 : edges[column + 1]]
        begins = column == 0 or closed[column - 1] or line[left : left + 1] in ("|", "+", "")
        if begins:
            owner = cell
            cell.left = None
            cell.lines.append(text)
        else:
            cell.left = owner
            owner.lines[-1] += line[left : left + 1] + text


def read_simple(lines: Sequence[str]) -> list[list[str]]:
    """Read a table drawn with "====  ====".

    Args:
        lines: from the upper to the lower border, without indentation.
    """
    padded = [_pad(line) for line in lines]
    starts = [found.start() for found in _COLUMN.finditer(padded[0])]
    head = 0
    rows: list[list[str]] = []
    for line in padded[1:]:
        stripped = line.strip()
        if stripped and not stripped.strip("= "):
            head = head or len(rows)
        elif stripped and not stripped.strip("- ") and rows:
            _fill_spans(rows[-1], line, starts)
        elif stripped:
            _add_simple_row(rows, _split_at(line, starts))
    return _join_head(rows, head)


def _add_simple_row(rows: list[list[str]], cells: list[str]) -> None:
    """Add the cells of a line; the row before it goes on where the first cell is empty."""
    if cells[0] or not rows:
        rows.append(cells)
        return
    rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]


def _fill_spans(row: list[str], underline: str, starts: Sequence[int]) -> None:
    """Repeat the texts of cells that span the columns that are underlined together."""
    for column, start in enumerate(starts):
        is_joined = column > 0 and underline[start - 1 : start] == "-"
        if is_joined and not row[column]:
            row[column] = row[column - 1]


def _split_at(line: str, starts: Sequence[int]) -> list[str]:
    """Cut a line at the starts of columns; a text that crosses the start of one belongs to the
    column before it.
    """
    cells = [""] * len(starts)
    begin = 0
    column = 0
    for number, start in enumerate(starts):
        crosses_border = line[start - 1 : start].strip() != ""
        if number > 0 and not crosses_border:
            cells[column] = line[begin:start]
            begin = start
            column = number
    cells[column] = line[begin:]
    return [" ".join(cell.replace(_WIDE_SIGN, "").split()) for cell in cells]


def read_list_table(lines: Sequence[str]) -> list[list[str]]:
    """Read the body of a "list-table" directive: a list of rows, each a list of cells."""
    rows: list[list[str]] = []
    indent = 0
    for line in lines:
        first = _LIST_ROW.match(line)
        following = _LIST_CELL.match(line)
        if first and (not rows or len(first[1]) <= indent):
            indent = len(first[1])
            rows.append([first[2] or ""])
        elif following and rows and len(following[1]) == indent:
            rows[-1].append(following[2] or "")
        elif rows and line.strip():
            rows[-1][-1] = f"{rows[-1][-1]} {line.strip()}"
    return rows


def read_csv_table(body: Sequence[str], header: str, delimiter: str) -> list[list[str]]:
    """Read the header and the body of a "csv-table" directive."""
    text = "\n".join([header, *body] if header else body)
    return [row for row in split_rows(text, delimiter) if row]


def _pad(line: str) -> str:
    """Write a sign after each letter that takes two columns."""
    if line.isascii():
        return line
    return "".join(
        f"{sign}{_WIDE_SIGN}" if unicodedata.east_asian_width(sign) in "WF" else sign
        for sign in line
        if not unicodedata.combining(sign)
    )
