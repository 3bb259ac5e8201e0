"""Cells of a table laid out on its grid: a merged cell stands in each place that it spans.

A table may say that a cell spans a million columns, or all the rows of a long table. So what the
merged cells of a table add to it grows only with the text that the table has itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_MOST_SPANNED = 1_000
"""Columns that a cell may span, as in HTML."""

_FREE_COST = 10_000
"""The cost of merged cells that any table may have: places, and characters that are repeated."""

_COST_OF_A_PLACE = 4
"""The cost of a place below a cell that spans rows, besides the characters in it."""

_COST_FOR_A_CELL = 100
_COST_FOR_A_CHARACTER = 10
"""What a cell of its own, and each character in it, adds to the cost that a table may have."""


class Cell(NamedTuple):
    """A cell of a table, as a document has it.

    Args:
        text: all text in it but that of the tables in it.
        columns: the number of columns that it spans.
        rows: the number of rows that it spans.
        is_heading: whether the document marks it as the heading of a row or of columns.
        tables: the tables in it, as lines.
    """

    text: str
    columns: int = 1
    rows: int = 1
    is_heading: bool = False
    tables: tuple[str, ...] = ()


class Place(NamedTuple):
    """What a place in the grid shows.

    Args:
        text: of the cell, on one line.
        is_heading: whether the cell is marked as a heading.
        columns: the number of columns that the cell spans in the grid.
        rows: the number of rows that the cell spans.
        repeats: whether the place to the left shows the same cell.
        continues: whether the place above shows the same cell.
        tables: the tables in the cell, in the first place of the cell only.
    """

    text: str
    is_heading: bool = False
    columns: int = 1
    rows: int = 1
    repeats: bool = False
    continues: bool = False
    tables: tuple[str, ...] = ()


_EMPTY = Place("")


def lay_out_rows(rows: Iterable[Sequence[Cell]]) -> Iterator[list[Place]]:
    """Yield the rows of the grid; an empty row where a row has no text of its own."""
    grid = _Grid()
    for row in rows:
        yield grid.lay_out(row)


class _Grid:
    """Lays out the rows of a table, one after the other."""

    def __init__(self) -> None:
        self._from_above: dict[int, tuple[Place, int]] = {}
        """Column -> the place that continues there, and the number of rows that it still spans."""
        self._room = _FREE_COST

    def lay_out(self, cells: Sequence[Cell]) -> list[Place]:
        """Lay out the next row."""
        row: list[Place] = []
        has_own_text = False
        for cell in cells:
            text = " ".join(cell.text.split())
            has_own_text = has_own_text or text != "" or cell.tables != ()
            self._room += _COST_FOR_A_CELL + _COST_FOR_A_CHARACTER * len(text)
            while self._from_above and len(row) in self._from_above:
                row.append(self._continue(len(row)))
            if cell.columns <= 1 and cell.rows <= 1:  # most cells
                row.append(Place(text, cell.is_heading, tables=cell.tables))
            else:
                self._append(row, cell, text)
        if self._from_above:
            self._append_rest(row)
        return row if has_own_text else []

    def _append(self, row: list[Place], cell: Cell, text: str) -> None:
        """Append a merged cell in each column that it spans."""
        columns = max(1, min(cell.columns, _MOST_SPANNED))
        if not self._pay(columns - 1):
            columns = 1
        place = Place(text, cell.is_heading, columns, max(1, cell.rows), tables=cell.tables)
        first = len(row)
        row.append(place)
        if cell.rows > 1:
            self._keep(first, place, cell.rows - 1)
        if columns == 1:
            return
        repeats_text = self._pay((columns - 1) * len(text))
        other = place._replace(text=text if repeats_text else "", repeats=True, tables=())
        row.extend([other] * (columns - 1))
        for column in range(first + 1, len(row)):
            self._from_above.pop(column, None)  # two cells claim the place: the later one has it
            if cell.rows > 1:
                self._keep(column, other, cell.rows - 1)

    def _pay(self, cost: int) -> bool:
        """Whether the table may still have what costs so much."""
        if cost > self._room:
            return False
        self._room -= cost
        return True

    def _keep(self, column: int, place: Place, rows: int) -> None:
        self._from_above[column] = (place._replace(continues=True, tables=()), rows)

    def _continue(self, column: int) -> Place:
        """Return the place that continues from above; an empty one if its text costs too much."""
        place, rows = self._from_above.pop(column)
        if not self._pay(_COST_OF_A_PLACE):
            return _EMPTY
        if rows > 1:
            self._from_above[column] = (place, rows - 1)
        return place if self._pay(len(place.text)) else _EMPTY

    def _append_rest(self, row: list[Place]) -> None:
        """Append the places that continue from above, to the right of the row's own cells."""
        columns = sorted(column for column in self._from_above if column >= len(row))
        for column in columns:
            row.extend([_EMPTY] * (column - len(row)))
            row.append(self._continue(column))
