"""Tables of Markdown, as GitHub's specification (GFM) has them: the rows, and where they end.

A table is a row of names, a row of dashes with as many cells (`| --- | --- |`), and the rows below
it. A line without a bar ends it, and so does a line that begins another block. Markdown may also
have tables of HTML.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from convrag_documents.readers.html import format_data_table
from convrag_documents.readers.markdown_lines import HEADING
from convrag_documents.readers.merged_cells import Cell
from convrag_documents.readers.tables import write_rows

_PREFIX = re.compile(r"[ \t]*+(?:>[ \t]*+)*+")
"""The indentation of a line, and the marks of the quotations that it is in."""

_DELIMITER = re.compile(
    r"^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$", re.MULTILINE
)
_HTML_TABLE = re.compile(r"[ \t]*<table\b", re.IGNORECASE)
_BAR = re.compile(r"(?<!\\)\|")
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CONTAINER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)]|!!!|\?\?\?\+?|===)[ \t]")
"""The beginning of an item of a list, or of a note or a tab in MkDocs: their text is indented."""

_OTHER_BLOCK = re.compile(r"`{3}|~{3}|<[A-Za-z/!?]")
_CODE_INDENT = 4


_MOST_EXTRA = 1000
"""Cells of a row beyond the last column that are read; Markdown itself shows none of them."""


class MarkdownTable(NamedTuple):
    """A table in lines of Markdown.

    Args:
        lines: its rows, as text.
        end: the number of the line after it.
    """

    lines: list[str]
    end: int


class TableFinder:
    """Finds the tables in lines of Markdown outside of code.

    Args:
        lines: all lines of the text.
        clean_name: removes links and emphasis from the name of a column.
    """

    def __init__(self, lines: Sequence[str], clean_name: Callable[[str], str]) -> None:
        self._lines = lines
        self._clean_name = clean_name
        self._heads = {
            number - 1 for number, line in enumerate(lines) if _is_delimiter(line) and number
        }
        self._html_heads = {
            number for number, line in enumerate(lines) if _HTML_TABLE.match(line) is not None
        }

    def __contains__(self, number: int) -> bool:
        """Whether a table may begin at a line."""
        return number in self._heads or number in self._html_heads

    def read(self, first: int) -> MarkdownTable | None:
        """Read the table that begins at a line; None if none does."""
        if first in self._html_heads:
            return self._read_html(first)
        head = self._lines[first]
        prefix = _get_prefix(head)
        names = _split_row(head[len(prefix) :])
        width = len(_split_row(_strip_prefix(self._lines[first + 1])))
        has_bar = "|" in head or "|" in self._lines[first + 1]
        if len(names) != width or not has_bar or self._is_code(first, prefix):
            return None
        end = first + 2
        while end < len(self._lines) and self._is_row(self._lines[end], prefix):
            end += 1
        shown_prefix = prefix if len(prefix) > 1 or ">" in prefix else ""
        rows = [[Cell(self._clean_name(name) or name, is_heading=True) for name in names]]
        for line in self._lines[first + 2 : end]:
            cells = _split_row(_strip_prefix(line))[: width + _MOST_EXTRA]
            rows.append([Cell(text) for text in cells])
        return MarkdownTable([shown_prefix + line for line in write_rows(rows)], end)

    def _read_html(self, first: int) -> MarkdownTable | None:
        """Read a table of HTML; None if it is not alone in its lines, or lays out the page."""
        depth = 0
        end = first
        while end == first or (depth > 0 and end < len(self._lines)):
            line = self._lines[end].lower()
            depth += line.count("<table") - line.count("</table")
            end += 1
        if depth > 0:  # it is not closed, and nor are those after it
            self._html_heads = set()
        prefix = _get_prefix(self._lines[first])
        source = "\n".join(self._lines[first:end])
        is_alone = source.rstrip().lower().endswith("</table>")
        if depth != 0 or not is_alone or "```" in source or self._is_code(first, prefix):
            return None
        lines = format_data_table(source).splitlines()
        return MarkdownTable(lines, end) if lines else None

    def _is_code(self, first: int, prefix: str) -> bool:
        """Whether the line is code because of its indentation, and not in a list."""
        indent = prefix.partition(">")[0].replace("\t", " " * _CODE_INDENT)
        if len(indent) < _CODE_INDENT:
            return False
        for number in range(first - 1, max(-1, first - _MOST_LINES_BACK), -1):
            line = self._lines[number]
            is_outer = line.strip() != "" and len(_get_prefix(line)) < len(prefix)
            if is_outer:
                return _CONTAINER.match(line) is None
        return True

    def _is_row(self, line: str, prefix: str) -> bool:
        """Whether a line goes on with a table."""
        own = _get_prefix(line)
        text = line[len(own) :]
        is_as_deep = own.count(">") == prefix.count(">")
        begins_block = _OTHER_BLOCK.match(text) is not None or HEADING.match(text) is not None
        return is_as_deep and not begins_block and _BAR.search(text) is not None


_MOST_LINES_BACK = 200
"""Lines in which the beginning of the list is looked for that a table is in."""


def _is_delimiter(line: str) -> bool:
    return "-" in line and _DELIMITER.match(line) is not None


def _get_prefix(line: str) -> str:
    found = _PREFIX.match(line)
    return "" if found is None else found[0]


def _strip_prefix(line: str) -> str:
    return line[len(_get_prefix(line)) :]


def _split_row(text: str) -> list[str]:
    """Split a row at its bars; one at its beginning and one at its end are no borders of cells."""
    cells = _BAR.split(text.strip())
    if len(cells) > 1 and not cells[0].strip():
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1].strip():
        cells = cells[:-1]
    return [_LINE_BREAK.sub(" ", cell.replace("\\|", "|")).strip() for cell in cells]
