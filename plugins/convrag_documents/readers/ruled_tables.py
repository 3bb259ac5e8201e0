"""Ruled tables of a PDF's page: cells are found by the lines around them, texts by their places.

A PDF has no tables, only lines and texts with places. pypdf gives both. Where a piece of text
reaches over several cells, the page's text is left as it is.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.pdf_lines import (
    Line,
    PageView,
    Piece,
    Place,
    join_pieces,
    multiply_matrices,
    read_lines,
)
from convrag_documents.readers.tables import count_head_rows, format_table

if TYPE_CHECKING:
    from pypdf import PageObject

log = logging.getLogger(__name__)

_RULE = re.compile(rb"[\d.]\s+(?:re|l)\s")
_FEWEST_RULES = 4
"""Lines or rectangles of a page that may have a table of two rows and two columns."""

_MOST_RULES = 2_000
"""Lines of a page on which tables are looked for; drawings and maps have more."""

_NEAR = 3.0
"""The distance, in points, of lines that touch; and the width of a rectangle that is a line."""

_SHOWS_TEXT = (b"Tj", b"TJ", b"'", b'"')
_STROKES = (b"S", b"s", b"B", b"B*", b"b", b"b*")
_FILLS = (b"f", b"F", b"f*")
_ENDS_PATH = (*_STROKES, *_FILLS, b"n")

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
    """Reads the lines of the pages of a document, with their tables, which may span pages."""

    def __init__(self) -> None:
        self._last: RuledTable | None = None
        self._last_page = 0
        self._head: list[list[Cell]] = []
        """The rows of names of the last table."""

    def read_lines(self, page: PageObject, number: int) -> list[Line]:
        """Read the lines of a page in the order of the file; each row of a table is a line.

        Raises:
            Exception: any error of pypdf in a damaged page.
        """
        try:
            if _may_have_tables(page):
                return self._read_with_tables(page, number)
        except Exception as error:  # the text is of more use than the lines around it
            log.debug("the lines of a page cannot be read", exc_info=error)
        return read_lines(page)

    def _read_with_tables(self, page: PageObject, number: int) -> list[Line]:
        view = PageView(page)
        drawing = _Drawing(view)
        text = page.extract_text(
            visitor_operand_before=drawing.visit_operation, visitor_text=drawing.visit_text
        )
        is_complete = "".join(shown.piece.text for shown in drawing.texts) == text
        grids = drawing.find_tables() if is_complete else []
        if not grids:
            return read_lines(page)
        lines: list[Line] = []
        pieces: list[Piece] = []
        for shown in drawing.texts:
            grid = next((grid for grid in grids if id(shown) in grid.taken), None)
            if grid is None:
                is_after_table = lines != [] and lines[-1].is_field and not pieces
                if shown.piece.text.strip() or not is_after_table:
                    pieces.append(shown.piece)
                continue
            if pieces:
                lines.extend(join_pieces(pieces, view))
            pieces = []
            if lines and not lines[-1].text.strip():
                lines.pop()  # the line that the text before the table ended
            if not grid.is_written:
                lines.extend(self._write_table(grid, number))
        if pieces:
            lines.extend(join_pieces(pieces, view))
        return lines

    def _write_table(self, grid: _Grid, number: int) -> Iterator[Line]:
        """Yield the rows of a table, one below the other."""
        grid.is_written = True
        rows = self._format(grid.build(), number).splitlines()
        left, top, height = grid.measure()
        for row, text in enumerate(rows):
            place = Place(left, top - height * (row + 1) / len(rows))
            yield Line(text, place, is_field=True)

    def _format(self, table: RuledTable, page: int) -> str:
        """Write a table; one that goes on has the names of its first page."""
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


def _may_have_tables(page: PageObject) -> bool:
    """Whether a page draws lines; reading it without a look at them is faster."""
    content = page.get_contents()
    if content is None:
        return False
    return len(_RULE.findall(content.get_data())) >= _FEWEST_RULES


class _Shown(NamedTuple):
    """A piece of text, with the places of its parts."""

    piece: Piece
    places: list[Place]


class _Drawing:
    """Collects the lines and the texts of a page while pypdf reads it.

    Attributes:
        texts: the texts in the order of the page.
    """

    def __init__(self, view: PageView) -> None:
        self.texts: list[_Shown] = []
        self._view = view
        self._places: list[Place] = []
        self._across: list[_Rule] = []
        self._upright: list[_Rule] = []
        self._path: list[tuple[Place, Place]] = []
        """The lines of the path that is being drawn."""
        self._boxes: list[tuple[Place, Place]] = []
        """The rectangles of the path, by two corners."""
        self._start = self._last = Place(0.0, 0.0)

    def visit_text(self, text: str, cm: Matrix, tm: Matrix, _: Any, size: float) -> None:
        """Note a piece of text."""
        piece = Piece(text, multiply_matrices(tm, cm), size)
        self.texts.append(_Shown(piece, self._places))
        self._places = []

    def _apply(self, matrix: Matrix, x: Any, y: Any) -> Place:
        """Return the place at which a reader sees a point."""
        across, up = float(x), float(y)
        return self._view.place(
            matrix[0] * across + matrix[2] * up + matrix[4],
            matrix[1] * across + matrix[3] * up + matrix[5],
        )

    def visit_operation(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:
        """Note a place of text, or a part of a path."""
        if operator in _SHOWS_TEXT:
            self._places.append(self._apply(cm, tm[4], tm[5]))
        elif operator == b"re":
            x, y, width, height = (float(operand) for operand in operands[:4])
            corner = self._apply(cm, x + width, y + height)
            self._boxes.append((self._apply(cm, x, y), corner))
        elif operator == b"m":
            self._start = self._last = self._apply(cm, operands[0], operands[1])
        elif operator == b"l":
            point = self._apply(cm, operands[0], operands[1])
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
                self._add_line(Place(left, bottom), Place(right, top))
            elif strokes:
                points = ((left, bottom), (right, bottom), (right, top), (left, top))
                corners = [Place(*point) for point in points]
                for start, end in pairwise([*corners, corners[0]]):
                    self._add_line(start, end)
        self._path = []
        self._boxes = []

    def _add_line(self, start: Place, end: Place) -> None:
        width = abs(end.x - start.x)
        height = abs(end.y - start.y)
        if height <= _NEAR < width:
            first, last = sorted((start.x, end.x))
            self._across.append(_Rule((start.y + end.y) / 2, first, last))
        elif width <= _NEAR < height:
            first, last = sorted((start.y, end.y))
            self._upright.append(_Rule((start.x + end.x) / 2, first, last))

    def find_tables(self) -> list[_Grid]:
        """Find the grids of lines whose cells have all of the texts in them."""
        if len(self._across) + len(self._upright) > _MOST_RULES:
            return []
        grids = []
        for across, upright in _group_touching(self._across, self._upright):
            grid = _Grid(across, upright)
            if grid.is_table() and all(grid.takes(shown) for shown in self.texts):
                grids.append(grid)
        return grids


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
        across: its lines from left to right.
        upright: its lines from the bottom to the top.
        pieces: the texts, by the row and the column of the first place of their cells.
        taken: the texts in it, by their identity.
        is_written: whether its rows are among the lines of the page.
    """

    across: list[_Rule]
    upright: list[_Rule]
    pieces: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    is_written: bool = False
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

    def takes(self, shown: _Shown) -> bool:
        """Put a text into its cell, and return False if it reaches over several cells."""
        owners = {self._find_owner(place) for place in shown.places}
        if owners <= {None} or not shown.piece.text.strip():
            return True
        if len(owners) > 1:
            return False
        owner = owners.pop()
        assert owner is not None
        self.pieces.setdefault(owner, []).append(shown.piece.text)
        self.taken.add(id(shown))
        return True

    def _find_owner(self, place: Place) -> tuple[int, int] | None:
        column = bisect_right(self._xs, place.x + 1) - 1
        row = bisect_right(self._ys, place.y + 1) - 1
        return self._owners.get((row, column))

    def measure(self) -> tuple[float, float, float]:
        """Return its left side, its top and its height."""
        return self._xs[0], self._ys[-1], self._ys[-1] - self._ys[0]

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
