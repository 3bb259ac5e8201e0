"""Tables as text: how a row is written, whatever format the table is from.

A row of a table whose columns have names can be understood alone: "item: laptop; price: 1200". The
cells of other rows stand between bars: "laptop | 1200".
"""

import re
from collections.abc import Iterable, Iterator, Sequence

CELL_BORDER = " | "
"""The text between two cells of a row whose columns have no names."""

_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")
_LONGEST_NAME = 100


def format_row(cells: Iterable[str], names: Sequence[str] = ()) -> str:
    """Write a row in one line, without its empty cells.

    Args:
        cells: the texts of the cells.
        names: of the columns; empty for a table whose columns have no names.
    """
    texts = [" ".join(cell.split()) for cell in cells]
    if not names:
        return CELL_BORDER.join(text for text in texts if text)
    parts = []
    for column, text in enumerate(texts):
        name = names[column] if column < len(names) else ""
        if text:
            parts.append(f"{name}: {text}" if name else text)
    return "; ".join(parts)


def format_table(rows: Iterable[Iterable[str]]) -> str:
    """Write a table of a document, a line for each row that is not empty."""
    lines = [format_row(row) for row in rows]
    return "\n".join(line for line in lines if line)


def format_named_rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row of a data table that is not empty, with the names of its columns.

    The first row with two cells that are not empty has the names if all of these are texts, and
    all are different. A row above it, such as a title, has no names; nor has any row of a table
    whose first row has no names.
    """
    names: Sequence[str] = ()
    is_named = False
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        filled = [cell for cell in cells if cell]
        if not is_named and len(filled) > 1:
            is_named = True
            if _are_names(filled):
                names = cells
                continue
        if filled:
            yield format_row(cells, names)


def _are_names(cells: Sequence[str]) -> bool:
    all_differ = len(set(cells)) == len(cells)
    has_number = any(_NUMBER.fullmatch(cell) for cell in cells)
    has_long_text = any(len(cell) > _LONGEST_NAME for cell in cells)
    return all_differ and not has_number and not has_long_text
