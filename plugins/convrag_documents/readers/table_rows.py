"""The rows of a table as lines that can be understood alone: "item: laptop; price: 1200"."""

import re
from collections.abc import Iterable, Iterator, Sequence

_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")


def format_rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row that is not empty, with the names of the columns, if the table has them.

    The first row with two cells that are not empty has the names if all of these are texts, and no two the same. What
    stands above it, such as a title, is a line of its own; so is each row of a table without names.
    """
    names: Sequence[str] | None = None
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        filled = [cell for cell in cells if cell]
        if names is None and len(filled) > 1:
            names = cells if _are_names(filled) else ()
            if names:
                continue
        if names and len(filled) > 0:
            yield "; ".join(_format_cell(names, place, cell) for place, cell in enumerate(cells) if cell)
        elif filled:
            yield " | ".join(filled)


def _are_names(cells: Sequence[str]) -> bool:
    return len(set(cells)) == len(cells) and not any(map(_NUMBER.fullmatch, cells)) and max(map(len, cells)) <= 100


def _format_cell(names: Sequence[str], place: int, cell: str) -> str:
    name = names[place] if place < len(names) else ""
    return f"{name}: {cell}" if name else cell
