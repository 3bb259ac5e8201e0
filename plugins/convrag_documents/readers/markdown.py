"""Markdown, with its headings.

The text stays as it is in the file, with these exceptions: line breaks within paragraphs become
spaces, the rows of tables have the names of their columns, and badges (images that are links),
comments and front matter are left out.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from convrag import Document
from convrag.sdk.types import Heading
from convrag_documents.readers.encoding import decode
from convrag_documents.readers.markdown_comments import remove_comments
from convrag_documents.readers.markdown_lines import BLOCK, HEADING
from convrag_documents.readers.markdown_tables import TableFinder

_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HARD_BREAK = ("  ", "\\", "|", "<br>", "<br/>")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(.{0,100000}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_BADGE = re.compile(r"\[!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


def read_markdown(content: bytes) -> Iterator[Document]:
    """Read a file; the title and the description of its front matter are the document's."""
    fields, text = _split_front_matter(_BADGE.sub("", decode(content)))
    description = _get_line(fields, "description")
    if description:
        end = "." if description[-1].isalnum() else ""
        text = f"{description}{end}\n\n{text.lstrip()}"
    joined, headings = parse_markdown(text)
    yield Document("", joined, title=_get_line(fields, "title"), headings=tuple(headings))


def _split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Split a file into the fields of its front matter and its text; no fields where it has none.

    Front matter is YAML between two lines of "---". A thematic break is written in the same way,
    with blank lines around it. So a block with a blank line at its beginning or its end is front
    matter only if it has a title.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, text
    fields = _parse_fields(found[1])
    is_front_matter = "title" in fields or (fields and not _is_between_blank_lines(found[1]))
    return (fields, text[found.end() :]) if is_front_matter else ({}, text)


def _is_between_blank_lines(block: str) -> bool:
    """Whether a block begins or ends with a blank line."""
    lines = block.splitlines()
    return not lines[0].strip() or not lines[-1].strip()


def _parse_fields(block: str) -> dict[str, Any]:
    """Parse YAML; no fields where it is damaged, or is not a mapping."""
    try:
        fields = yaml.load(block, yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _get_line(fields: dict[str, Any], name: str) -> str:
    """Return the text of a field in one line; empty where it is missing, or not a text."""
    value = fields.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""


def parse_markdown(text: str) -> tuple[str, list[Heading]]:
    """Return Markdown with each paragraph in one line, and its headings; code has no headings.

    Comments are left out. The places of the headings are those in the text that is returned.
    """
    parser = _Parser(remove_comments(text))
    parser.parse()
    return "".join(parser.joined), parser.headings


class _Parser:
    """Reads Markdown line by line.

    Attributes:
        joined: the lines, with a space or a line break between them.
        headings: with their places in the text.
    """

    def __init__(self, text: str) -> None:
        self.joined: list[str] = []
        self.headings: list[Heading] = []
        self._text = text
        self._start = 0
        """The place of the line that is being read."""
        self._fence = ""
        """The fence of the code that is being read; empty outside of code."""
        self._in_paragraph = False
        """Whether the last line was part of a paragraph, so that this one may continue it."""
        self._paragraph_start = 0
        self._shift = 0
        """The length that tables have gained as text, up to the line that is being read."""

    def parse(self) -> None:
        """Read all lines."""
        lines = self._text.split("\n")
        tables = TableFinder(lines, _clean_heading)
        end = 0
        for number, line in enumerate(lines):
            if number < end:  # a row of a table
                continue
            table = tables.read(number) if number in tables and not self._fence else None
            if table is not None:
                end = table.end
                self._add_table(lines[number:end], table.lines, lines[end : end + 1])
                continue
            if self._fence:
                self._read_code(line)
            elif line[:1].isalpha():  # most lines: they begin no block
                self._read_text(line, continues=self._in_paragraph)
                self._in_paragraph = True
            else:
                self._read_other(line)
            self._start += len(line) + 1

    def _add_table(self, source: list[str], rows: list[str], following: list[str]) -> None:
        """Add the rows of a table, with a blank line before and after them."""
        last = self.joined[-1] if self.joined else ""
        added = ["", *rows] if last.strip() else list(rows)
        if following and following[0].strip():
            added.append("")
        for row in added:
            self._append(row)
        length = sum(len(line) + 1 for line in source)
        self._start += length
        self._shift += sum(len(row) + 1 for row in added) - length
        self._in_paragraph = False

    def _read_code(self, line: str) -> None:
        self._append(line)
        fence = _FENCE.match(line)
        has_info = line.strip(" \t`~") != ""
        if fence and fence[1].startswith(self._fence) and not has_info:
            self._fence = ""

    def _read_other(self, line: str) -> None:
        """Read a line that may begin a block."""
        fence = _FENCE.match(line)
        heading = HEADING.match(line)
        underline = _UNDERLINE.match(line)
        if fence:
            self._append(line)
            self._fence = fence[1]
            self._in_paragraph = False
        elif heading:
            self._append(line)
            self._add_heading(self._start, len(heading[1]), line[heading.end() :])
        elif underline and self._in_paragraph:
            self._append(line)
            paragraph = self._text[self._paragraph_start : self._start].replace("\n", " ")
            level = 1 if underline[1].startswith("=") else 2
            self._add_heading(self._paragraph_start, level, paragraph)
        else:
            continues = self._in_paragraph and not BLOCK.match(line)
            self._read_text(line, continues=continues)
            self._in_paragraph = continues or _begins_paragraph(line)

    def _read_text(self, line: str, *, continues: bool) -> None:
        if not continues:
            self._paragraph_start = self._start
        self._append(line, continues=continues)

    def _add_heading(self, start: int, level: int, text: str) -> None:
        self.headings.append(Heading(start + self._shift, level, _clean_heading(text)))
        self._in_paragraph = False

    def _append(self, line: str, *, continues: bool = False) -> None:
        if self.joined:
            joins = continues and not self.joined[-1].endswith(_HARD_BREAK)
            self.joined.append(" " if joins else "\n")
        self.joined.append(line)


def _begins_paragraph(line: str) -> bool:
    """Whether the next line may continue a line, which is not of a table, HTML, a rule or code."""
    stripped = line.strip()
    is_block = stripped.startswith(("|", "<")) or line.startswith(("    ", "\t"))
    is_rule = len(stripped) > 2 and set(stripped) <= set("-*_= \t")
    return bool(stripped) and not is_block and not is_rule


def _clean_heading(heading: str) -> str:
    """Return the text of a heading without closing signs, links and emphasis."""
    text = heading.strip()
    unclosed = text.rstrip("#")
    has_closing_signs = unclosed[-1:] in ("", " ", "\t")
    if has_closing_signs:
        text = unclosed
    return _EMPHASIS.sub("", _LINK.sub(r"\1", text)).strip()
