"""Ruled tables of a PDF's page: cells are found by the lines around them, texts by their places.

A PDF has no tables, only lines and texts with places. pypdf gives both. Where a piece of text
reaches over several cells, the page's text is left as it is.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import count_head_rows, format_table

if TYPE_CHECKING:
    from pypdf import PageObject

log = logging.getLogger(__name__)

_RULE = re.compile(rb"[\d.]\s+(?:re|l)\s")
_FEWEST_RULES = 6
"""Lines or rectangles of a page that may have a table of two rows and two columns."""

_MOST_RULES = 2_000
"""Lines of a page on which tables are looked for; drawings and maps have more."""

_NEAR = 3.0
"""The distance, in points, of lines that touch; and the width of a rectangle that is a line."""

_SHOWS_TEXT = (b"Tj", b"TJ", b"'", b'"')
_STROKES = (b"S", b"s", b"B", b"B*", b"b", b"b*")
_FILLS = (b"f", b"F", b"f*")
_ENDS_PATH = (*_STROKES, *_FILLS, b"n")

Point = tuple[float, float]
Matrix = Sequence[float]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line: from `first` to `last` at a distance `at` from the left, or from the bottom."""

    at: float
    first: float
    last: float


@dataclass(slots=True)
class RuledTable:
    """A table of a page.

    Attributes:
        rows: its cells.
        columns: the places of the lines between its columns.
    """

    rows: list[list[Cell]]
    columns: list[float]

    def has_columns_of(self, other: RuledTable) -> bool:
        """Whether its columns are as wide as those of another table."""
        if len(self.columns) != len(other.columns):
            return False
        pairs = zip(self.columns, other.columns, strict=True)
        return all(abs(own - others) <= _NEAR for own, others in pairs)


class RuledTables:
    """Writes the tables of the pages of a document, which may go on on the next page."""

    def __init__(self) -> None:
        self._last: RuledTable | None = None
        self._last_page = 0
        self._head: list[list[Cell]] = []
        """The rows of names of the last table."""

    def format(self, table: RuledTable, page: int) -> str:
        """Write a table of a page; one that goes on has the names of its first page."""
        goes_on = (
            self._last is not None
            and self._last_page == page - 1
            and table.has_columns_of(self._last)
            and table.rows[: len(self._head)] != self._head
        )
        rows = table.rows
        if goes_on:
            head = [[cell._replace(is_heading=True) for cell in row] for row in self._head]
            rows = head + rows
        else:
            self._head = rows[: count_head_rows(rows)]
        self._last = table
        self._last_page = page
        return format_table(rows)


def read_page(page: PageObject) -> list[str | RuledTable]:
    """Read a page: its text, with the tables where they are in it.

    Raises:
        Exception: any error of pypdf in a damaged page.
    """
    try:
        if _may_have_tables(page):
            return _read_tables(page)
    except Exception as error:  # the text is of more use than the lines around it
        log.debug("the lines of a page cannot be read", exc_info=error)
    return [page.extract_text()]


def _read_tables(page: PageObject) -> list[str | RuledTable]:
    drawing = _Drawing()
    text = page.extract_text(
        visitor_operand_before=drawing.visit_operation, visitor_text=drawing.visit_text
    )
    is_complete = "".join(piece.text for piece in drawing.pieces) == text
    tables = drawing.find_tables() if is_complete else []
    return _put_into_text(drawing.pieces, tables) if tables else [text]


def _may_have_tables(page: PageObject) -> bool:
    """Whether a page draws lines; reading it without a look at them is faster."""
    content = page.get_contents()
    if content is None:
        return False
    return len(_RULE.findall(content.get_data())) >= _FEWEST_RULES


@dataclass(slots=True)
class _Piece:
    """A piece of text, with the places of its parts."""

    text: str
    places: list[Point]


class _Drawing:
    """Collects the lines and the texts of a page while pypdf reads it.

    Attributes:
        pieces: the texts in the order of the page.
    """

    def __init__(self) -> None:
        self.pieces: list[_Piece] = []
        self._places: list[Point] = []
        self._across: list[_Rule] = []
        self._upright: list[_Rule] = []
        self._path: list[tuple[Point, Point]] = []
        """The lines of the path that is being drawn."""
        self._boxes: list[tuple[Point, Point]] = []
        """The rectangles of the path, by two corners."""
        self._start: Point = (0.0, 0.0)
        self._last: Point = (0.0, 0.0)

    def visit_text(self, text: str, _cm: Any, _tm: Any, _font: Any, _size: Any) -> None:
        """Note a piece of text."""
        self.pieces.append(_Piece(text, self._places))
        self._places = []

    def visit_operation(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:
        """Note a place of text, or a part of a path."""
        if operator in _SHOWS_TEXT:
            self._places.append(_apply(cm, (tm[4], tm[5])))
        elif operator == b"re":
            x, y, width, height = (float(operand) for operand in operands[:4])
            self._boxes.append((_apply(cm, (x, y)), _apply(cm, (x + width, y + height))))
        elif operator == b"m":
            self._start = self._last = _apply(cm, (float(operands[0]), float(operands[1])))
        elif operator == b"l":
            point = _apply(cm, (float(operands[0]), float(operands[1])))
            self._path.append((self._last, point))
            self._last = point
        elif operator == b"h":
            self._path.append((self._last, self._start))
        elif operator in _ENDS_PATH:
            self._end_path(strokes=operator in _STROKES, fills=operator in _FILLS)

    def _end_path(self, *, strokes: bool, fills: bool) -> None:
        if strokes:
            for start, end in self._path:
                self._add_line(start, end)
        for (left, bottom), (right, top) in self._boxes:
            is_thin = min(abs(right - left), abs(top - bottom)) <= _NEAR
            if is_thin and (fills or strokes):
                self._add_line((left, bottom), (right, top))
            elif strokes:
                corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
                for start, end in pairwise([*corners, corners[0]]):
                    self._add_line(start, end)
        self._path = []
        self._boxes = []

    def _add_line(self, start: Point, end: Point) -> None:
        width = abs(end[0] - start[0])
        height = abs(end[1] - start[1])
        if height <= _NEAR < width:
            first, last = sorted((start[0], end[0]))
            self._across.append(_Rule((start[1] + end[1]) / 2, first, last))
        elif width <= _NEAR < height:
            first, last = sorted((start[1], end[1]))
            self._upright.append(_Rule((start[0] + end[0]) / 2, first, last))

    def find_tables(self) -> list[_Grid]:
        """Find the grids of lines whose cells have all of the texts in them."""
        if len(self._across) + len(self._upright) > _MOST_RULES:
            return []
        grids = []
        for across, upright in _group_touching(self._across, self._upright):
            grid = _Grid(across, upright)
            if grid.is_table() and all(grid.takes(piece) for piece in self.pieces):
                grids.append(grid)
        return grids


def _apply(matrix: Matrix, point: Point) -> Point:
    """Return a point in the coordinates of the page."""
    x, y = point
    return matrix[0] * x + matrix[2] * y + matrix[4], matrix[1] * x + matrix[3] * y + matrix[5]


def _group_touching(
    across: list[_Rule], upright: list[_Rule]
) -> Iterable[tuple[list[_Rule], list[_Rule]]]:
    """Yield the lines that touch each other, directly or by way of others."""
    left = set(range(len(upright)))
    waiting = set(range(len(across)))
    while waiting:
        reached = [waiting.pop()]
        group: tuple[list[_Rule], list[_Rule]] = ([], [])
        while reached:
            line = across[reached.pop()]
            group[0].append(line)
            for number in [number for number in left if _touch(line, upright[number])]:
                left.discard(number)
                group[1].append(upright[number])
                others = [each for each in waiting if _touch(across[each], upright[number])]
                waiting.difference_update(others)
                reached.extend(others)
        yield group


def _touch(across: _Rule, upright: _Rule) -> bool:
    is_beside = across.first - _NEAR <= upright.at <= across.last + _NEAR
    return is_beside and upright.first - _NEAR <= across.at <= upright.last + _NEAR


@dataclass(slots=True)
class _Grid:
    """The lines of a table, and the texts between them.

    Attributes:
        pieces: the texts, by the row and the column of the first place of their cells.
    """

    across: list[_Rule]
    upright: list[_Rule]
    pieces: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    _ys: list[float] = field(default_factory=list)
    _xs: list[float] = field(default_factory=list)
    _cells: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _owners: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def is_table(self) -> bool:
        """Lay out the cells, and return whether there are two rows and two columns."""
        self._ys = _join_near(line.at for line in self.across)
        self._xs = _join_near(line.at for line in self.upright)
        rows = len(self._ys) - 1
        columns = len(self._xs) - 1
        if rows < 2 or columns < 2 or rows * columns > _MOST_RULES:
            return False
        for row in range(rows - 1, -1, -1):  # from the top of the page
            for column in range(columns):
                if (row, column) not in self._owners:
                    self._add_cell(row, column)
        return len(self._cells) >= 4

    def _add_cell(self, row: int, column: int) -> None:
        """Add the cell whose upper left place this is; it spans places without lines between."""
        width = 1
        while column + width < len(self._xs) - 1 and not self._has_upright(row, column + width):
            width += 1
        height = 1
        while row - height >= 0 and not self._has_across(row - height + 1, column):
            height += 1
        for each_row in range(row - height + 1, row + 1):
            for each_column in range(column, column + width):
                self._owners.setdefault((each_row, each_column), (row, column))
        self._cells[row, column] = (height, width)

    def _has_upright(self, row: int, number: int) -> bool:
        middle = (self._ys[row] + self._ys[row + 1]) / 2
        return _has_line(self.upright, self._xs[number], middle)

    def _has_across(self, number: int, column: int) -> bool:
        middle = (self._xs[column] + self._xs[column + 1]) / 2
        return _has_line(self.across, self._ys[number], middle)

    def takes(self, piece: _Piece) -> bool:
        """Put a text into its cell, and return False if it reaches over several cells."""
        owners = {self._find_owner(place) for place in piece.places}
        if owners <= {None} or not piece.text.strip():
            return True
        if len(owners) > 1:
            return False
        owner = owners.pop()
        assert owner is not None
        self.pieces.setdefault(owner, []).append(piece.text)
        self.taken.add(id(piece))
        return True

    def _find_owner(self, place: Point) -> tuple[int, int] | None:
        column = bisect_right(self._xs, place[0] + 1) - 1
        row = bisect_right(self._ys, place[1] + 1) - 1
        return self._owners.get((row, column))

    def build(self) -> RuledTable:
        """Make the table, with the upper row first."""
        rows = []
        for row in range(len(self._ys) - 2, -1, -1):
            cells = []
            for column in range(len(self._xs) - 1):
                if (row, column) in self._cells:
                    height, width = self._cells[row, column]
                    cells.append(Cell(" ".join(self.pieces.get((row, column), ())), width, height))
            rows.append(cells)
        return RuledTable(rows, self._xs)


def _join_near(places: Iterable[float]) -> list[float]:
    """Return places in order, without those that are near the one before."""
    joined: list[float] = []
    for place in sorted(places):
        if not joined or place - joined[-1] > _NEAR:
            joined.append(place)
    return joined


def _has_line(lines: list[_Rule], at: float, middle: float) -> bool:
    return any(
        abs(line.at - at) <= 2 * _NEAR and line.first <= middle <= line.last for line in lines
    )


def _put_into_text(pieces: list[_Piece], grids: list[_Grid]) -> list[str | RuledTable]:
    """Put each table in the place of its first text."""
    parts: list[str | RuledTable] = []
    text = ""
    used: set[int] = set()
    for piece in pieces:
        number = next((n for n, grid in enumerate(grids) if id(piece) in grid.taken), None)
        if number is None:
            text += piece.text
        elif number not in used:
            used.add(number)
            parts += [text, grids[number].build()]
            text = ""
    return [*parts, text]
