"""The lines of a page of a PDF, with their places."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pypdf import PageObject

_DEFAULT_SIZE = 12.0
_GAP = 2.0
"""Pieces of a row are apart where more than this many letters' sizes are between them."""

_LETTER_WIDTH = 0.5
"""The width of a letter, as a share of the size of its font: the mean of common fonts."""


class Place(NamedTuple):
    """A place on a page as a reader sees it, from left to right and from the bottom to the top."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, or the value of a form field.

    Args:
        text: without a line break.
        place: the beginning of its baseline; None where it is not known.
        size: of its letters, in the page's units.
        upright: whether a reader sees it upright.
        is_field: whether it is the value of a form field.
        continues_row: whether it is to the right of the line before, after a gap: the next cell of
            a table, or the next column of the page.
    """

    text: str
    place: Place | None = None
    size: float = _DEFAULT_SIZE
    upright: bool = True
    is_field: bool = False
    continues_row: bool = False

    @property
    def right(self) -> float:
        """Estimate where it ends; 0 where its place is not known."""
        if self.place is None:
            return 0.0
        return self.place.x + _LETTER_WIDTH * self.size * len(self.text)


class Piece(NamedTuple):
    """Text that is shown in one go: it has line breaks within it or none.

    Args:
        text: the text.
        matrix: takes a point from the text's coordinates to the page's.
        size: the size of the font, in the text's coordinates.
    """

    text: str
    matrix: Sequence[float]
    size: float


class PageView:
    """The way in which a page is shown: it may be turned by 90, 180 or 270 degrees.

    Args:
        page: the page.
    """

    def __init__(self, page: PageObject) -> None:
        try:
            degrees = int(page.rotation)
        except (TypeError, ValueError):  # a damaged file
            degrees = 0
        self._quarters = degrees // 90 % 4

    @property
    def is_turned(self) -> bool:
        """Whether what is a height in the file is a distance from the side for a reader."""
        return self._quarters % 2 == 1

    def place(self, x: float, y: float) -> Place:
        """Return the place at which a reader sees a point of the page."""
        for _ in range(self._quarters):
            x, y = y, -x
        return Place(x, y)

    def is_upright(self, matrix: Sequence[float]) -> bool:
        """Whether a reader sees text of this matrix upright."""
        right, up = self.place(matrix[0], matrix[1])
        return right > 0 and abs(up) <= abs(right)


def resolve(value: Any) -> Any:
    """Return the object that a reference names; other values are returned as they are."""
    return value.get_object() if hasattr(value, "get_object") else value


def read_lines(page: PageObject) -> list[Line]:
    """Read the lines of a page in the order of the file."""
    pieces: list[Piece] = []

    def note(text: str, cm: Sequence[float], tm: Sequence[float], _: Any, size: float) -> None:
        if text:
            pieces.append(Piece(text, multiply_matrices(tm, cm), size))

    text = page.extract_text(visitor_text=note)
    if "".join(piece.text for piece in pieces) != text:  # places would be of other lines
        return [Line(line) for line in text.split("\n")]
    return list(join_pieces(pieces, PageView(page)))


def join_pieces(pieces: Iterable[Piece], view: PageView) -> Iterator[Line]:
    """Join the pieces of each line; its place is that of its first letters."""
    row: list[Piece] = []
    for piece in pieces:
        before, *following = piece.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        row.append(piece._replace(text=before))
        for text in following:
            yield from _split_row(row, view)
            row = [piece._replace(text=text)]
    yield from _split_row(row, view)


def _split_row(pieces: Sequence[Piece], view: PageView) -> Iterator[Line]:
    """Split a row of pieces at its gaps, and where it goes back to the left."""
    part: list[Piece] = []
    last: Line | None = None
    continues = False
    for piece in pieces:
        if piece.text.strip():
            line = _make_line([piece], view)
            gap = 0.0 if last is None else _measure_gap(last, line)
            if gap:
                yield replace(_make_line(part, view), continues_row=continues)
                part = []
                continues = gap > 0
            last = line
        part.append(piece)
    yield replace(_make_line(part, view), continues_row=continues)


def _measure_gap(last: Line, line: Line) -> float:
    """Measure the gap between two pieces of a row.

    Returns:
        A positive number for a gap, a negative one where the row goes back; 0 where neither is the
        case, or the script runs from the right.
    """
    if last.place is None or line.place is None or not (last.upright and line.upright):
        return 0.0
    if any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in last.text + line.text):
        return 0.0
    if line.place.x < last.place.x - line.size:
        return line.place.x - last.place.x
    gap = line.place.x - last.right
    return gap if gap > _GAP * line.size else 0.0


def _make_line(pieces: Sequence[Piece], view: PageView) -> Line:
    """Make a line of pieces; its size is that of the longest one, which is no bullet."""
    text = "".join(piece.text for piece in pieces)
    shown = [piece for piece in pieces if piece.text.strip()]
    if not shown:
        return Line(text)
    matrix = shown[0].matrix
    longest = max(shown, key=lambda piece: len(piece.text))
    scale = max(abs(longest.matrix[2]), abs(longest.matrix[3]))
    return Line(
        text,
        view.place(matrix[4], matrix[5]),
        scale * abs(longest.size) or _DEFAULT_SIZE,
        view.is_upright(matrix),
    )


def multiply_matrices(first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
    """Multiply two matrices of a PDF: the first is applied first."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return (
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + m,
    )
