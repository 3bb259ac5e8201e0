"""Markdown, with its headings.

The text stays as it is in the file, with these exceptions: line breaks within paragraphs become
spaces, entities become letters, the rows of tables have the names of their columns, and badges
(images that are links), comments, attributes and front matter are left out.
"""

import re
from collections.abc import Iterator

from convrag import Document
from convrag.sdk.data.fields import add_fields
from convrag.sdk.text.encodings import decode
from convrag.sdk.types import Heading
from convrag_documents.readers.front_matter import get_line, split_front_matter
from convrag_documents.readers.markdown_comments import remove_comments
from convrag_documents.readers.markdown_lines import BLOCK, HEADING
from convrag_documents.readers.markdown_signs import (
    read_heading_signs,
    remove_attributes,
    remove_unseen_comments,
    simplify_signs,
)
from convrag_documents.readers.markdown_tables import TableFinder

_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RAW = re.compile(r" {0,3}<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
"""The beginning of a block of HTML in which nothing is Markdown."""

_HARD_BREAK = ("  ", "\\", "|", "<br>", "<br/>")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_BADGE_END = r"\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,1000}\])"
_BADGE = re.compile(rf"\[!\[[^\]\n]{{0,1000}}{_BADGE_END}{_BADGE_END}")
_SHOWN = ("title", "description")
"""Names of the front matter that are parts of the document."""

_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


def read_markdown(content: bytes) -> Iterator[Document]:
    """Read a file; the title and the description of its front matter are the document's.

    The rest of the front matter are its fields.
    """
    fields, text = split_front_matter(_BADGE.sub("", decode(content)))
    description = get_line(fields, "description")
    if description:
        end = "." if description[-1].isalnum() else ""
        text = f"{description}{end}\n\n{text.lstrip()}"
    joined, headings = parse_markdown(text)
    others = {name: value for name, value in fields.items() if name not in _SHOWN}
    document = Document(
        "",
        joined,
        title=get_line(fields, "title"),
        headings=tuple(headings),
        metadata=add_fields({}, others),
    )
    yield simplify_signs(document)


def parse_markdown(text: str) -> tuple[str, list[Heading]]:
    """Return Markdown with each paragraph in one line, and its headings; code has no headings.

    Comments are left out. The places of the headings are those in the text that is returned.
    """
    parser = _Parser(remove_unseen_comments(remove_comments(text)))
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
        self._raw_end = ""
        """The end of the block of HTML that is being read; empty outside of one."""
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
            is_text = not self._fence and not self._raw_end
            table = tables.read(number) if number in tables and is_text else None
            if table is not None:
                end = table.end
                self._add_table(lines[number:end], table.lines, lines[end : end + 1])
                continue
            if self._fence:
                self._read_code(line)
            elif self._raw_end:
                self._read_raw(line)
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

    def _read_raw(self, line: str) -> None:
        self._append(line)
        if self._raw_end in line.lower():
            self._raw_end = ""

    def _read_other(self, line: str) -> None:
        """Read a line that may begin a block."""
        fence = _FENCE.match(line)
        heading = HEADING.match(line)
        underline = _UNDERLINE.match(line)
        raw = _RAW.match(line)
        if raw:
            self._raw_end = f"</{raw[1].lower()}>"
            self._in_paragraph = False
            self._read_raw(line)
        elif fence:
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
    """Return the text of a heading without closing signs, attributes, links and emphasis."""
    text = remove_attributes(heading.strip())
    unclosed = text.rstrip("#")
    has_closing_signs = unclosed[-1:] in ("", " ", "\t")
    if has_closing_signs:
        text = unclosed
    seen = read_heading_signs(_LINK.sub(r"\1", text))
    return " ".join(_EMPHASIS.sub("", seen).split())
