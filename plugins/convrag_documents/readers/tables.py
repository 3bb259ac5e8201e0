"""Tables as text: how a row is written, whatever format the table is from.

A row of a table whose columns have names can be understood alone: "item: laptop; price: 1200". Its
empty cells are left out, with the names of their columns. The cells of other rows stand between
bars: "laptop | 1200".
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from convrag_documents.readers.merged_cells import Cell, Place, lay_out_rows

CELL_BORDER = " | "
"""The text between two cells of a row whose columns have no names."""

_FIELD_BORDER = "; "
_LEVEL_BORDER = ", "
"""The text between the names of a column on two levels: "depth, in summer"."""

_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")
_DIGIT = re.compile(r"\d")
_LONGEST_NAME = 100
_LONGEST_GROUP = 100
_MOST_LEVELS = 5
"""Rows of headings in a row; where there are more, the marks mean something else."""

_FEWEST_ROWS_OF_FORM = 3
_MOST_ROWS_OF_FORM = 50
"""Rows that are looked at to tell a form from other tables of two columns."""

_MOST_NAMES = 5_000_000
_MOST_NAMES_SHARE = 8
"""Characters of names that are written for a table, and for each character of its values: names
that are far longer than the values would take much more memory than the file."""

_MOST_REMEMBERED = 2_000
"""Values of a table that are compared with a row after a blank one."""


def format_table(rows: Iterable[Sequence[Cell]], caption: str = "") -> str:
    """Write a table of a document: its caption, and a line for each row that is not empty.

    Args:
        rows: the cells of each row. A cell that spans several rows or columns is only in its first
            row, and once.
        caption: the heading of the table, where it has one of its own.
    """
    title = " ".join(caption.split())
    lines = [title] if title else []
    lines.extend(write_rows(rows))
    return "\n".join(lines)


def format_named_rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row that is not empty, of a file of data without marked cells."""
    cells = ([Cell(text) for text in _remove_empty_end(row)] for row in rows)
    return write_rows(cells, has_forms=False)


def _remove_empty_end(row: Sequence[str]) -> Sequence[str]:
    """Return a row without the empty cells at its end, which may be a million."""
    end = len(row)
    while end and not row[end - 1].strip():
        end -= 1
    return row[:end]


def write_rows(rows: Iterable[Sequence[Cell]], *, has_forms: bool = True) -> Iterator[str]:
    """Yield the lines of a table, or of several with an empty row between them.

    Rows of cells that are marked as headings have the names of the columns. Without marks, the
    first row with two cells that are not empty has them if all of these are texts, and all are
    different. A row above it, such as a title, has no names; nor has any row of a table whose first
    row has no names. Names on several levels are joined.

    Args:
        rows: the cells of each row.
        has_forms: whether a table of two columns without marks may be a form, with labels in its
            first column: its values are numbers and texts. In files of data, the first row has the
            names of such columns, too.
    """
    return _Writer(lay_out_rows(rows), has_forms=has_forms).write()


def count_head_rows(rows: Iterable[Sequence[Cell]]) -> int:
    """Count the rows at the beginning of a table that have the names of its columns."""
    grid = [row for row in lay_out_rows(rows) if row]
    if not grid:
        return 0
    writer = _Writer(iter(grid[1:]))
    return writer.count_levels(grid[0], _list_filled(grid[0]))


class _Rows:
    """Rows of a grid, which can be looked at before they are read."""

    def __init__(self, rows: Iterator[list[Place]]) -> None:
        self._rows = rows
        self._waiting: deque[list[Place]] = deque()

    def read(self) -> list[Place] | None:
        """Read the next row; None at the end."""
        if self._waiting:
            return self._waiting.popleft()
        return next(self._rows, None)

    def peek(self, number: int = 0) -> list[Place]:
        """Look at the row that is so many rows ahead; an empty one at the end."""
        while len(self._waiting) <= number:
            row = next(self._rows, None)
            if row is None:
                return []
            self._waiting.append(row)
        return self._waiting[number]


class _Writer:
    """Writes the rows of one grid."""

    def __init__(self, grid: Iterator[list[Place]], *, has_forms: bool = True) -> None:
        self._rows = _Rows(grid)
        self._has_forms = has_forms
        self._is_form = False
        """Whether the first column has the labels of the values next to them."""
        self._names: Sequence[str] = ()
        """The names of the columns; empty for a table whose columns have no names."""
        self._unused_head = ""
        """The row of the names, until a row has been written with them."""
        self._may_begin = True
        """Whether the next row may have the names of columns without being marked."""
        self._after_gap = False
        self._after_title = False
        self._trusts_marks = True
        """Whether rows that are marked as headings are taken for the names of columns."""
        self._group = ""
        """The heading across the table that the rows stand below."""
        self._is_group_unused = False
        self._values: set[str] = set()
        self._name_characters = 0
        self._value_characters = 0

    def write(self) -> Iterator[str]:
        """Yield the lines."""
        while (row := self._rows.read()) is not None:
            filled = _list_filled(row)
            if filled:
                yield from self._write_row(row, filled)
            yield from _list_tables(row)
            self._after_gap = not row
        yield from self._end_table()

    def _write_row(self, row: list[Place], filled: list[Place]) -> Iterator[str]:
        if self._is_title(row, filled):
            yield from self._end_table()
            yield filled[0].text
            return
        if self._is_group(row, filled):
            yield from self._end_group()
            self._group = filled[0].text
            self._is_group_unused = True
            return
        levels = self.count_levels(row, filled)
        if levels:
            yield from self._end_table()
            yield from self._begin_table(row, levels)
            return
        self._may_begin = False
        line = self._format_row(row)
        if line:
            yield line
            self._unused_head = ""
            self._is_group_unused = False

    def _begin_table(self, first: list[Place], levels: int) -> Iterator[str]:
        """Read the names of the columns; names that are too long are written once in full."""
        head = [first]
        for _ in range(levels - 1):
            head.append(self._rows.read() or [])
            yield from _list_tables(head[-1])
        names = _join_levels(head)
        self._names = [_shorten(name) for name in names]
        line = _format_unnamed(_list_different(names))
        if any(len(name) > _LONGEST_NAME for name in names):
            yield line
        else:
            self._unused_head = line
        self._may_begin = False
        self._after_title = False
        self._values = set()

    def _end_table(self) -> Iterator[str]:
        """Write the names of columns without a row, and a group without one."""
        if self._unused_head:
            yield self._unused_head
        self._unused_head = ""
        yield from self._end_group()

    def _end_group(self) -> Iterator[str]:
        if self._is_group_unused:
            yield self._group
        self._group = ""
        self._is_group_unused = False

    def _is_title(self, row: list[Place], filled: list[Place]) -> bool:
        """Whether a row is a title: one cell, above the names of a table that is wider."""
        if len(filled) > 1:
            return False
        following = self._rows.peek()
        if not self._names and self._may_begin:
            is_alone = _count_cells(row) == 1
            is_wide = filled[0].columns > 1 or _count_cells(following) != 1
            return (is_alone and is_wide) or not filled[0].is_heading
        if not self._after_gap:
            return False
        ahead = 0 if following else 1
        self._after_title = self._begins_other_table(self._rows.peek(ahead), ahead + 1)
        return self._after_title

    def _is_group(self, row: list[Place], filled: list[Place]) -> bool:
        """Whether a row is a heading of the rows below it: one cell across all named columns."""
        text = filled[0].text
        if not self._names or not _is_across(row, len(self._names)) or not self._rows.peek():
            return False
        is_sentence = text.endswith((".", "!", "?")) or len(text) > _LONGEST_GROUP
        return filled[0].is_heading or not is_sentence

    def count_levels(self, row: list[Place], filled: list[Place]) -> int:
        """Count the rows of names that begin with a row; 0 if it has no names."""
        if _list_tables(row):
            return 0
        if self._trusts_marks and _is_marked(row):
            levels = self._count_marked_levels(filled)
            if levels:
                return levels
        has_marks = self._trusts_marks and any(place.is_heading for place in filled)
        if self._may_begin:
            return 0 if has_marks else self._count_unmarked_levels(row)
        is_apart = self._after_gap or self._after_title
        if is_apart and not has_marks and self._begins_other_table(row, 0):
            return self._count_unmarked_levels(row)
        return 0

    def _count_marked_levels(self, filled: list[Place]) -> int:
        """Count the rows of headings from this one on; 0 if they are not above any row."""
        if not self._may_begin:
            texts = [place.text for place in filled]
            is_head = len(filled) > 1 and _are_names(texts) and self._rows.peek() != []
            return 1 if is_head else 0
        levels = 1
        while _has_marked_names(self._rows.peek(levels - 1)):
            levels += 1
            if levels > _MOST_LEVELS:
                self._trusts_marks = False
                return 0
        has_rows = levels == 1 or self._rows.peek(levels - 1) != []
        self._trusts_marks = has_rows
        return levels if has_rows else 0

    def _count_unmarked_levels(self, row: list[Place]) -> int:
        """Count the rows of names in a table without marks, by the cells that span others."""
        spanned = min(_MOST_LEVELS, max(place.rows for place in row))
        has_wide_cell = any(1 < place.columns < len(row) for place in row)
        if spanned > 1 and not has_wide_cell:  # a merged cell of the rows themselves
            return 0
        if self._has_forms and self._begins_form(row):
            self._is_form = True
            return 0
        levels = max(spanned, 2) if has_wide_cell else spanned
        head = [row, *(self._rows.peek(number) for number in range(levels - 1))]
        if spanned < levels and not _are_names([place.text for place in _list_filled(head[1])]):
            return 0
        first_names = [place.text for place in _list_filled(row)]
        names = [name for name in _join_levels(head) if name]
        if len(first_names) < 2:
            return 0
        return levels if _are_names(first_names) and _are_names(names) else 0

    def _begins_form(self, row: list[Place]) -> bool:
        """Whether a table of two columns has numbers and texts in its second one."""
        rows = [row]
        while len(rows) < _MOST_ROWS_OF_FORM and self._rows.peek(len(rows) - 1):
            rows.append(self._rows.peek(len(rows) - 1))
        if len(rows) < _FEWEST_ROWS_OF_FORM or any(len(each) != 2 for each in rows):
            return False
        labels = [each[0].text for each in rows]
        if len(set(labels)) < len(labels) or any(_NUMBER.fullmatch(label) for label in labels):
            return False
        values = [each[1].text for each in rows[1:] if each[1].text]
        has_number = any(_NUMBER.fullmatch(value) for value in values)
        has_words = any(not _DIGIT.search(value) for value in values)
        return has_number and has_words

    def _begins_other_table(self, row: list[Place], ahead: int) -> bool:
        """Whether a row after a gap has the names of another table.

        Such a row is more likely to have names if its columns are others, if the row below it has
        a number under a name, or if none of its texts is a value of the table above.

        Args:
            row: the row.
            ahead: the number of rows from the next one to the row after it.
        """
        filled = _list_filled(row)
        texts = [place.text for place in filled]
        following = self._rows.peek(ahead)
        if len(texts) < 2 or not _are_names(texts) or not _list_filled(following):
            return False
        if not self._names or self._after_title:
            return True
        columns = [column for column, place in enumerate(row) if place.text]
        if columns != [column for column, name in enumerate(self._names) if name]:
            return True
        below = [following[column].text for column in columns if column < len(following)]
        has_number = any(_NUMBER.fullmatch(text) for text in below)
        return has_number or self._values.isdisjoint(texts)

    def _format_row(self, row: list[Place]) -> str:
        """Write a row in one line, below the heading of its group."""
        if not self._names:
            return _format_unnamed(_mark_label(row) if self._is_form else row)
        if self._repeats_names(row):
            return ""
        if _is_across(row, len(self._names)):
            return row[0].text
        if self._has_long_names():
            return _format_unnamed(row)
        fields = [self._group] if self._group else []
        last = ""
        for column, place in enumerate(row):
            name = self._names[column] if column < len(self._names) else ""
            is_same = place.repeats and (name == last or not name)
            last = name
            if not place.text or is_same:
                continue
            fields.append(f"{name}: {place.text}" if name else place.text)
            self._name_characters += len(name)
            self._value_characters += len(place.text)
            if len(self._values) < _MOST_REMEMBERED:
                self._values.add(place.text)
        return _FIELD_BORDER.join(fields)

    def _has_long_names(self) -> bool:
        """Whether the names that were written are far longer than the values below them."""
        most = _MOST_NAMES + _MOST_NAMES_SHARE * self._value_characters
        return self._name_characters > most

    def _repeats_names(self, row: list[Place]) -> bool:
        """Whether a row has the names of the columns again, as at the beginning of a page."""
        if len(row) < 2 or row[0].text != self._names[0]:
            return False
        return [place.text for place in row] == list(self._names)


def _format_unnamed(row: Iterable[Place]) -> str:
    """Write a row whose columns have no names; its headings name the cells after them."""
    fields: list[str] = []
    after_heading = False
    is_last_heading = False
    for place in row:
        if not place.text or place.repeats:
            continue
        is_heading = place.is_heading or place.text.endswith(":")
        if is_heading and after_heading and not is_last_heading:
            fields.append(_FIELD_BORDER)
        elif is_last_heading and not is_heading:
            fields[-1] = fields[-1].removesuffix(":")
            fields.append(": ")
        elif fields:
            fields.append(CELL_BORDER)
        fields.append(place.text)
        after_heading = after_heading or is_heading
        is_last_heading = is_heading
    return "".join(fields)


def _mark_label(row: list[Place]) -> list[Place]:
    """Mark the first cell of a row as a heading, if there is a value after it."""
    first, *others = row
    return [first._replace(is_heading=True), *others] if others else row


def _list_filled(row: Sequence[Place]) -> list[Place]:
    """List the cells of a row that are not empty, each once."""
    return [place for place in row if place.text and not place.repeats]


def _count_cells(row: Sequence[Place]) -> int:
    return sum(not place.repeats for place in row)


def _is_across(row: Sequence[Place], width: int) -> bool:
    """Whether a row is one cell across all columns of a table of so many."""
    return len(_list_filled(row)) == 1 and row[0].columns > 1 and row[0].columns >= width


def _list_tables(row: Sequence[Place]) -> list[str]:
    """List the lines of the tables in the cells of a row."""
    return [line for place in row for line in place.tables]


def _is_marked(row: Sequence[Place]) -> bool:
    """Whether a row has headings alone; one before empty cells is the heading of its row."""
    filled = _list_filled(row)
    if not filled or not filled[0].is_heading:
        return False
    are_headings = all(place.is_heading for place in filled)
    return are_headings and (len(filled) > 1 or row[-1].is_heading)


def _has_marked_names(row: Sequence[Place]) -> bool:
    """Whether a row has headings, each of some columns."""
    return _is_marked(row) and not _is_across(row, len(row))


def _join_levels(head: Sequence[Sequence[Place]]) -> list[str]:
    """Return the name of each column, from rows of names, one below the other."""
    width = max(len(row) for row in head)
    names = []
    for column in range(width):
        texts: list[str] = []
        for row in head:
            text = row[column].text.removesuffix(":").rstrip() if column < len(row) else ""
            if text and text not in texts:
                texts.append(text)
        names.append(_LEVEL_BORDER.join(texts))
    return names


def _list_different(names: Sequence[str]) -> list[Place]:
    """List names as cells, without those that repeat the one before."""
    places = []
    last = ""
    for name in names:
        places.append(Place(name, repeats=name == last))
        last = name
    return places


def _shorten(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 1].rstrip()}…"


def _are_names(texts: Sequence[str]) -> bool:
    all_differ = len(set(texts)) == len(texts)
    has_number = any(_NUMBER.fullmatch(text) for text in texts)
    has_long_text = any(len(text) > _LONGEST_NAME for text in texts)
    begins_form = texts[:1] != [] and texts[0].endswith(":")
    return all_differ and not has_number and not has_long_text and not begins_form
