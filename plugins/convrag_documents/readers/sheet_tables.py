"""Tables of a sheet: they are found by the empty rows and columns between them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import write_rows

_MOST_CELLS_APART = 500_000
"""Cells of a block in which tables next to each other are told apart; they are read at once."""

_MOST_RANGES = 100_000
"""Merged ranges of a sheet; the others are ignored."""

FormatValue = Callable[[object], str]
Columns = tuple[int, int]
"""The first column, and the column after the last one."""


def write_sheet(sheet: Any, format_value: FormatValue) -> Iterator[str]:
    """Yield the lines of the tables of a sheet.

    Args:
        sheet: a CalamineSheet.
        format_value: writes the value of a cell.
    """
    rows = sheet.iter_rows()
    number = 0
    for block in _list_blocks(sheet):
        if len(block.tables) == 1:
            merged = _MergedRanges(sheet)
            numbered = enumerate(islice(rows, block.height), number)
            cells = (
                _make_cells(merged, row, at, block.tables[0], format_value) for at, row in numbered
            )
            yield from write_rows(cells, has_forms=False)
        else:
            held = list(islice(rows, block.height))
            for columns in block.tables:
                merged = _MergedRanges(sheet)
                held_cells = [
                    _make_cells(merged, row, at, columns, format_value)
                    for at, row in enumerate(held, number)
                ]
                yield from write_rows(held_cells, has_forms=False)
        number += block.height


@dataclass(slots=True)
class _Block:
    """Rows of a sheet, with an empty row at their end, or several.

    Attributes:
        height: the number of rows.
        tables: the columns of each table, from the left.
        texts: the columns with a text below the first row.
        filled: the columns with any value.
    """

    height: int = 0
    tables: list[Columns] = field(default_factory=list)
    texts: set[int] = field(default_factory=set)
    filled: set[int] = field(default_factory=set)

    def add(self, row: Sequence[object]) -> None:
        """Add a row that is not empty."""
        columns = [column for column, value in enumerate(row) if value != ""]
        if self.filled:
            self.texts.update(column for column in columns if isinstance(row[column], str))
        self.filled.update(columns)
        self.height += 1

    def find_tables(self, width: int) -> None:
        """Find tables next to each other: they have an empty column between them.

        Each has two columns or more, and texts in its first one: a column of numbers goes on with
        the table to the left of it.
        """
        self.tables = [(0, width)]
        columns = sorted(self.filled)
        if not columns or self.height * width > _MOST_CELLS_APART:
            return
        runs = [[columns[0], columns[0] + 1]]
        for column in columns[1:]:
            if column == runs[-1][1]:
                runs[-1][1] += 1
            else:
                runs.append([column, column + 1])
        are_tables = all(last - first > 1 and first in self.texts for first, last in runs)
        if len(runs) > 1 and are_tables:
            self.tables = [(first, last) for first, last in runs]


def _list_blocks(sheet: Any) -> list[_Block]:
    """List the blocks of a sheet; those that are one table wide are one block."""
    blocks: list[_Block] = []
    block = _Block()
    is_after_gap = False
    width = 0
    for row in sheet.iter_rows():
        width = len(row)
        is_empty = all(value == "" for value in row)
        if not is_empty and is_after_gap:
            _add_block(blocks, block, width)
            block = _Block()
        is_after_gap = is_empty
        if is_empty:
            block.height += 1
        else:
            block.add(row)
    _add_block(blocks, block, width)
    return blocks


def _add_block(blocks: list[_Block], block: _Block, width: int) -> None:
    block.find_tables(width)
    goes_on = len(block.tables) == 1 and blocks != [] and len(blocks[-1].tables) == 1
    if goes_on:
        blocks[-1].height += block.height
    else:
        blocks.append(block)


class _MergedRanges:
    """The merged ranges of a sheet, for rows that are read in their order."""

    def __init__(self, sheet: Any) -> None:
        offset = 0 if sheet.start is None else sheet.start[1]
        self._starts: dict[tuple[int, int], tuple[int, int]] = {}
        """(row, column) of a first cell -> (row, column) of the last one."""
        for (top, left), (bottom, right) in islice(sheet.merged_cell_ranges or (), _MOST_RANGES):
            self._starts[top, left - offset] = (bottom, right - offset)
        self._covered: dict[int, int] = {}
        """Column -> the last row that a range of an earlier row covers there."""

    def find_span(self, row: int, column: int) -> tuple[int, int]:
        """Return the rows and columns that a cell spans; (0, 0) for a cell that is covered."""
        if not self._starts:
            return 1, 1
        if self._covered.get(column, -1) >= row:
            return 0, 0
        bottom, right = self._starts.get((row, column), (row, column))
        return bottom - row + 1, right - column + 1

    def cover(self, row: int, rows: int, columns: range) -> None:
        """Note the columns of a cell that spans rows below it."""
        for column in columns:
            self._covered[column] = row + rows - 1


def _make_cells(
    merged: _MergedRanges,
    row: Sequence[object],
    number: int,
    columns: Columns,
    format_value: FormatValue,
) -> list[Cell]:
    """Make the cells of a row in the columns of a table."""
    cells = []
    column, end = columns
    while column < end:
        rows, width = merged.find_span(number, column)
        if rows == 0:
            column += 1
            continue
        width = min(width, end - column)
        if rows > 1:
            merged.cover(number, rows, range(column, column + width))
        cells.append(Cell(format_value(row[column]), width, rows))
        column += width
    return cells
