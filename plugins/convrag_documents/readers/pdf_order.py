"""The reading order of a page of a PDF whose text boxes are in another order in the file.

The order of the file is kept where it is one in which a reader could read the page: most programs
write columns one after the other, from the left. Only a text box that lies above an earlier one, in
the same column or to the left of it, shows another order. Pages in a script that runs from the
right are kept as they are.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from convrag_documents.readers.pdf_lines import Line

_LEADING = 2.5
"""The distance of the lines of a box is at most this many times the size of their letters."""

_INDENT = 4.0
"""Lines of a box begin at most this many letters' sizes farther to the left or the right."""

_OVERLAP = 0.5
"""Boxes overlap where they share more than this many letters' sizes."""

_BAND_GAP = 4.0
"""Columns go on below a gap of at most this many letters' sizes."""

_FEWEST_ROWS = 4
"""A page is drawn row by row where it has at least so many rows of two columns."""

_PROSE_WORDS = 3
_PROSE_SHARE = 0.3
"""Rows of prose have at least so many words, and begin with a small letter at least so often."""

_MOST_BOXES = 200
"""A page with more boxes is a table or a drawing; its order is kept."""


@dataclass(slots=True)
class _Box:
    """Lines that follow each other downwards, with their rectangle."""

    lines: list[Line]
    left: float
    right: float
    top: float
    bottom: float


def sort_lines(lines: Sequence[Line]) -> list[Line]:
    """Bring the lines of a page into reading order, and join the cells of rows.

    Text that is not upright, such as that of a margin, comes last where anything is moved.
    """
    separated = _separate_columns(lines)
    joined = _join_rows(separated or lines)
    boxes = _make_boxes(joined)
    if len(boxes) > _MOST_BOXES or _runs_from_right(joined):
        return _join_rows(lines)
    if separated is None and not _is_out_of_order(boxes):
        return joined
    sorted_lines = [line for box in _sort_boxes(boxes) for line in box.lines]
    return sorted_lines + [line for line in joined if line.place is not None and not line.upright]


def _join_rows(lines: Sequence[Line]) -> list[Line]:
    """Join the lines that continue a row with those before them."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and line.continues_row:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [replace(row[0], text="".join(each.text for each in row)) for row in rows]


def _separate_columns(lines: Sequence[Line]) -> list[Line] | None:
    """Separate the columns of a page that was drawn row by row; None where it was not.

    Columns are of sentences that go on in the next row, unlike the cells of a table.
    """
    pairs = _list_pairs(lines)
    if len(pairs) < _FEWEST_ROWS:
        return None
    if not all(_is_prose([pair[side].text for pair in pairs]) for side in (0, 1)):
        return None
    second = {id(right) for _, right in pairs}
    return [replace(line, continues_row=False) if id(line) in second else line for line in lines]


def _list_pairs(lines: Sequence[Line]) -> list[tuple[Line, Line]]:
    """List the rows of two lines whose second ones begin at the most frequent place."""
    pairs = []
    for number, line in enumerate(lines[1:], 1):
        is_last = number + 1 == len(lines) or not lines[number + 1].continues_row
        if line.continues_row and not lines[number - 1].continues_row and is_last:
            pairs.append((lines[number - 1], line))
    starts = Counter(round(right.place.x) for _, right in pairs if right.place)
    if not starts:
        return []
    start = starts.most_common(1)[0][0]
    return [pair for pair in pairs if pair[1].place and abs(pair[1].place.x - start) <= 2]


def _is_prose(texts: Sequence[str]) -> bool:
    """Whether lines are of sentences: of several words, many of them within a sentence."""
    words = sum(len(text.split()) for text in texts)
    going_on = sum(text.strip()[:1].islower() for text in texts[1:])
    return words >= _PROSE_WORDS * len(texts) and going_on >= _PROSE_SHARE * len(texts)


def _make_boxes(lines: Sequence[Line]) -> list[_Box]:
    """Put the upright lines into boxes, in the order of the file."""
    boxes: list[_Box] = []
    for line in lines:
        if line.place is None or not line.upright:
            continue
        x, y = line.place
        line_box = _Box([line], x, line.right, y + 0.8 * line.size, y - 0.2 * line.size)
        if boxes and _continues(boxes[-1], line):
            _extend(boxes[-1], line_box)
        else:
            boxes.append(line_box)
    return boxes


def _continues(box: _Box, line: Line) -> bool:
    """Whether a line is the next one of a box."""
    last = box.lines[-1]
    assert last.place is not None
    assert line.place is not None
    size = max(last.size, line.size)
    down = last.place.y - line.place.y
    return -0.5 * size < down < _LEADING * size and abs(line.place.x - box.left) < _INDENT * size


def _extend(box: _Box, other: _Box) -> None:
    box.lines += other.lines
    box.left = min(box.left, other.left)
    box.right = max(box.right, other.right)
    box.top = max(box.top, other.top)
    box.bottom = min(box.bottom, other.bottom)


def _is_out_of_order(boxes: Sequence[_Box]) -> bool:
    """Whether a box lies above an earlier one of the same column, or of one to the right."""
    for number, later in enumerate(boxes):
        for earlier in boxes[:number]:
            margin = _OVERLAP * later.lines[0].size
            is_above = later.bottom > earlier.top - margin
            is_right = later.left > earlier.right - margin
            if is_above and not is_right:
                return True
    return False


def _runs_from_right(lines: Sequence[Line]) -> bool:
    """Whether most letters of a page are of a script that runs from the right."""
    balance = 0
    for line in lines:
        for letter in line.text:
            direction = unicodedata.bidirectional(letter)
            if direction in ("R", "AL"):
                balance += 1
            elif direction == "L":
                balance -= 1
    return balance > 0


def _sort_boxes(boxes: Sequence[_Box]) -> list[_Box]:
    """Sort boxes: columns from the left, and below each other what spans several columns."""
    if len(boxes) < 2:
        return list(boxes)
    columns = _split(boxes, lambda box: (box.left, box.right))
    if len(columns) > 1:
        return [box for column in columns for box in _sort_boxes(column)]
    bands = _split(boxes, lambda box: (-box.top, -box.bottom))
    if len(bands) == 1:
        return sorted(boxes, key=lambda box: (-box.top, box.left))
    return [box for band in _join_bands(bands) for box in _sort_boxes(band)]


def _join_bands(bands: Sequence[list[_Box]]) -> list[list[_Box]]:
    """Join the bands of a page over which the same columns go on."""
    joined = [list(bands[0])]
    for band in bands[1:]:
        together = joined[-1] + band
        gap = min(box.bottom for box in joined[-1]) - max(box.top for box in band)
        is_near = gap < _BAND_GAP * band[0].lines[0].size
        if is_near and len(_split(together, lambda box: (box.left, box.right))) > 1:
            joined[-1] = together
        else:
            joined.append(list(band))
    return joined


def _split(
    boxes: Sequence[_Box], find_span: Callable[[_Box], tuple[float, float]]
) -> list[list[_Box]]:
    """Split boxes where there is a gap between the spans that they cover, in their order."""
    parts: list[list[_Box]] = []
    end = 0.0
    for box in sorted(boxes, key=find_span):
        start, box_end = find_span(box)
        margin = _OVERLAP * box.lines[0].size
        if parts and start < end - margin:
            parts[-1].append(box)
            end = max(end, box_end)
        else:
            parts.append([box])
            end = box_end
    return parts
