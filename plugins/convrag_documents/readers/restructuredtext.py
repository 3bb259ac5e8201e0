"""reStructuredText, with its sections.

It is read line by line, as Markdown is, without docutils (docs/documents.md says why): roles,
references and emphasis become their texts, directives what they show, tables lines of "column:
value". An unknown role or directive shows its text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from textwrap import dedent

from convrag import Document
from convrag.sdk.text.encodings import decode
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.rst_directives import VERSIONS, find_form, find_label
from convrag_documents.readers.rst_inline import Names, read_inline
from convrag_documents.readers.rst_names import collect_names
from convrag_documents.readers.rst_sections import Title, find_title, is_adornment
from convrag_documents.readers.rst_tables import (
    GRID_BORDER,
    SIMPLE_BORDER,
    read_csv_table,
    read_grid,
    read_list_table,
    read_simple,
)
from convrag_documents.readers.tables import format_named_rows
from convrag_documents.readers.text_builder import TextBuilder

_EXPLICIT = re.compile(r"\.\.(?:\s+|$)")
_DIRECTIVE = re.compile(r"([A-Za-z][\w+.:-]*?)\s?::(?:\s+|$)")
_FOOTNOTE = re.compile(r"\[(?:#?[\w.-]*|\*)\](?=\s|$)")
_ANONYMOUS_TARGET = re.compile(r"__\s+\S")
_FIELD = re.compile(r":(?![\s:`])([^:`]*(?::(?![\s`])[^:`]*){0,9}):(?:\s+|$)")
_LIST_ITEM = re.compile(r"(?:[-*+•‣⁃]|\(?(?:\d{1,9}|#|[A-Za-z]|[ivxIVX]{1,6})[.)])(?:\s+|$)")
_OPTION = re.compile(r"(?:--?|/)[A-Za-z?][^\s,]*(?: [^\s,]+)?")
_LONGEST_OPTIONS = 100
"""Characters of the options of a command in a line, before their description."""

_LINE_OF_BLOCK = re.compile(r"\|(?: +|$)")
_DIRECTIVE_OPTION = re.compile(r":([\w-]+):(?:\s+(.*)|\s*$)")
_CONTROL_FIELDS = frozenset(["orphan", "tocdepth", "nocomments", "nosearch"])
_TAB = 8
_QUOTE_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def read_rst(content: bytes) -> Iterator[Document]:
    """Read a file. An included file that cannot be read is named in the text.

    Raises:
        Unreadable: after the document, where it includes such a file.
    """
    parser = _Parser(decode(content))
    yield parser.parse()
    if parser.not_included:
        names = ", ".join(parser.not_included)
        raise Unreadable(
            f"it includes files that are missing, excluded or outside of the folder: {names}"
        )


class _Parser:
    """Reads reStructuredText line by line.

    Attributes:
        not_included: the files that it includes and that were not found.
    """

    def __init__(self, text: str) -> None:
        self.not_included: list[str] = []
        self._lines = [line.expandtabs(_TAB).rstrip() for line in text.split("\n")]
        self._table_ends = _find_table_ends(self._lines)
        self._names: Names = collect_names(self._lines)
        self._builder = TextBuilder()
        self._at = 0
        """The number of the line that is being read."""
        self._styles: list[str] = []
        """The styles of titles, the highest first."""
        self._block: list[str] = []
        """The lines of the block that is being read."""
        self._paragraph: list[str] = []
        """The pieces of the last line of the block, which may go on."""
        self._indent = 0
        """The indentation of the paragraph's text."""
        self._may_be_term = False
        """Whether an indented line after the paragraph defines it."""
        self._label = ""
        """The label of a directive, which stands before its first paragraph."""
        self._expects_literal = False
        """Whether the last paragraph announced a literal block by "::"."""

    def parse(self) -> Document:
        """Read all lines."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            stripped = line.lstrip()
            indent = len(line) - len(stripped)
            if not stripped:
                self._end_block()
                self._at += 1
            elif self._expects_literal and self._reads_literal(indent, stripped):
                continue
            else:
                self._expects_literal = False
                self._read_line(indent, stripped)
        self._end_block()
        return self._builder.build()

    # Blocks

    def _read_line(self, indent: int, line: str) -> None:
        """Read a line that is not blank, and what belongs to it."""
        is_first = not self._paragraph
        title = find_title(self._lines, self._at) if is_first and indent == 0 else None
        if title:
            self._add_title(title)
        elif is_first and indent == 0 and is_adornment(line) and len(line) > 3:
            self._at += 1  # a transition
        elif is_first and self._reads_table(indent, line):
            return
        elif is_first and line.startswith(">>> "):
            self._add_code(self._take_until_blank())
        elif _EXPLICIT.match(line):
            self._end_block()
            self._read_explicit(indent, line)
        elif is_first and indent == 0 and _ANONYMOUS_TARGET.match(line):
            self._at += 1
        else:
            self._read_text(indent, line)
            self._at += 1

    def _read_text(self, indent: int, line: str) -> None:
        """Read a line of a paragraph, a list, a field or a definition."""
        item = _LIST_ITEM.match(line)
        field = _FIELD.match(line)
        options, description = _split_options(line)
        line_of_block = _LINE_OF_BLOCK.match(line)
        if item and self._may_begin_item(indent):
            marker = "-" if "#" in item[0] else item[0].strip()
            self._begin_line(f"{' ' * indent}{marker} {line[item.end() :]}", indent + item.end())
        elif field and not (self._paragraph and indent == self._indent > 0):
            self._begin_field(indent, field[1], line[field.end() :])
        elif options:
            self._begin_line(f"{options}: {description}", indent + len(line) - len(description))
        elif line_of_block:
            self._begin_line(line[line_of_block.end() :], indent + 1)
        elif self._may_be_term and len(self._paragraph) == 1 and indent > self._indent:
            self._begin_definition(indent, line)
        elif self._paragraph and indent >= self._indent:
            self._paragraph.append(line)
        else:
            self._begin_line(line, indent)
            self._may_be_term = True

    def _may_begin_item(self, indent: int) -> bool:
        """Whether a line may begin an item of a list, and is not a word in a paragraph."""
        return not self._paragraph or indent != self._indent or bool(self._block)

    def _begin_field(self, indent: int, name: str, value: str) -> None:
        self._begin_line(f"{name}: {value}".rstrip(), indent + 1)
        is_control = name in _CONTROL_FIELDS and not self._builder
        if is_control:
            self._paragraph = []

    def _begin_definition(self, indent: int, line: str) -> None:
        """Read the first line of a definition, which follows its term."""
        term, _, classifier = self._paragraph[0].partition(" : ")
        if classifier:
            term = f"{term} ({classifier})"
        border = "" if term.endswith((":", "?", "!", ";", ",")) else ":"
        self._paragraph = [f"{term}{border}", line]
        self._indent = indent

    def _begin_line(self, text: str, indent: int) -> None:
        self._end_paragraph()
        if self._label and text.strip():
            text = f"{self._label} {text}"
            self._label = ""
        self._paragraph = [text]
        self._indent = indent
        self._may_be_term = False

    def _end_paragraph(self) -> None:
        """Add the paragraph as a line of the block; "::" at its end announces a literal block."""
        if not self._paragraph:
            return
        text = " ".join(self._paragraph)
        self._paragraph = []
        self._expects_literal = text.endswith("::")
        if self._expects_literal:
            shown = text.removesuffix("::")
            text = shown.rstrip() if shown[-1:] in ("", " ") else f"{shown}:"
        leading = text[: len(text) - len(text.lstrip())]
        line = f"{leading}{read_inline(text.lstrip(), self._names)}"
        if line.strip():
            self._block.append(line)

    def _end_block(self) -> None:
        self._end_paragraph()
        if self._block:
            self._builder.add("\n".join(self._block))
        self._block = []

    def _add_title(self, title: Title) -> None:
        if title.style not in self._styles:
            self._styles.append(title.style)
        self._label = ""
        level = self._styles.index(title.style) + 1
        self._builder.add_heading(level, read_inline(title.text, self._names))
        self._at += title.lines

    # Code and tables

    def _reads_literal(self, indent: int, line: str) -> bool:
        """Read the literal block that a paragraph announced, if it is here."""
        self._expects_literal = False
        if indent > self._indent:
            self._add_code(self._take_body(self._indent))
            return True
        if indent == self._indent and line[0] in _QUOTE_SIGNS:
            self._add_code(self._take_until_blank())
            return True
        return False

    def _reads_table(self, indent: int, line: str) -> bool:
        """Read a drawn table, if one begins here."""
        if GRID_BORDER.match(line):
            lines = self._take_grid(indent)
            rows = read_grid(lines)
        elif SIMPLE_BORDER.match(line):
            lines = self._take_simple(indent)
            rows = read_simple(lines) if lines else []
        else:
            return False
        if rows:
            self._add_table(rows)
        elif lines:
            self._add_code(lines)
        return bool(lines)

    def _take_grid(self, indent: int) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at].lstrip()[:1] in ("+", "|"):
            self._at += 1
        return [line[indent:] for line in self._lines[start : self._at]]

    def _take_simple(self, indent: int) -> list[str]:
        """Take the lines of a simple table, which ends with a border before a blank line."""
        following = bisect_right(self._table_ends, self._at)
        if following == len(self._table_ends):
            return []
        start = self._at
        self._at = self._table_ends[following] + 1
        return [line[indent:] for line in self._lines[start : self._at]]

    def _add_table(self, rows: Sequence[Sequence[str]], caption: str = "") -> None:
        shown = [[read_inline(cell, self._names) for cell in row] for row in rows]
        lines = [caption] if caption else []
        lines += format_named_rows(shown)
        self._builder.add("\n".join(lines))

    def _add_code(self, lines: Sequence[str]) -> None:
        code = dedent("\n".join(lines)).strip("\n")
        if code.strip():
            self._builder.add(f"```\n{code}\n```")

    def _take_until_blank(self) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at]:
            self._at += 1
        return self._lines[start : self._at]

    def _take_body(self, indent: int) -> list[str]:
        """Take the lines that are blank, or indented more."""
        start = self._at
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line and len(line) - len(line.lstrip()) <= indent:
                break
            self._at += 1
        return self._lines[start : self._at]

    # Explicit markup: "..", and what it is about

    def _read_explicit(self, indent: int, line: str) -> None:
        """Read a directive, a footnote, a target or a comment."""
        content = line[2:].lstrip()
        directive = _DIRECTIVE.match(content)
        footnote = _FOOTNOTE.match(content)
        self._at += 1
        if directive:
            self._read_directive(indent, directive[1].lower(), content[directive.end() :])
        elif footnote:
            self._begin_line(content, indent + 1)
        elif content or not self._is_at_blank():  # a target, a substitution or a comment
            self._take_body(indent)

    def _is_at_blank(self) -> bool:
        return self._at >= len(self._lines) or not self._lines[self._at]

    def _read_directive(self, indent: int, name: str, arguments: str) -> None:
        options = self._take_options(indent)
        form = find_form(name)
        if form == "skipped":
            self._take_body(indent)
        elif form == "title":
            self._builder.title = read_inline(arguments, self._names)
        elif form == "code":
            self._add_caption(options)
            self._add_code(self._take_body(indent))
        elif form == "table":
            self._read_table(name, arguments, options, self._take_body(indent))
        elif form == "image":
            self._builder.add(options.get("alt", ""))
        elif form == "include":
            self._name_included(arguments)
            self._take_body(indent)
        elif form == "labelled":
            self._begin_labelled(indent, name, arguments)
        elif form is None:
            self._add_arguments(indent, arguments)

    def _take_options(self, indent: int) -> dict[str, str]:
        """Take the options of a directive: ":alt: A lighthouse"."""
        options: dict[str, str] = {}
        last = ""
        while not self._is_at_blank():
            line = self._lines[self._at]
            stripped = line.lstrip()
            found = _DIRECTIVE_OPTION.match(stripped)
            if len(line) - len(stripped) <= indent or not (found or last):
                break
            if found:
                last = found[1].lower()
                options[last] = found[2] or ""
            else:
                options[last] = f"{options[last]} {stripped}"
            self._at += 1
        return options

    def _add_caption(self, options: dict[str, str]) -> None:
        self._builder.add(read_inline(options.get("caption", ""), self._names))

    def _read_table(
        self, name: str, caption: str, options: dict[str, str], body: Sequence[str]
    ) -> None:
        lines = dedent("\n".join(body)).strip("\n").split("\n")
        if name == "list-table":
            rows = read_list_table(lines)
        else:
            delimiter = {"tab": "\t", "space": " "}.get(options.get("delim", ","), ",")
            if len(options.get("delim", "")) == 1:
                delimiter = options["delim"]
            rows = read_csv_table(lines, options.get("header", ""), delimiter)
        if "file" in options:
            self._name_included(options["file"])
        self._add_table(rows, read_inline(caption, self._names))

    def _name_included(self, path: str) -> None:
        self._builder.add(f"Included: {path}")
        self.not_included.append(path)

    def _begin_labelled(self, indent: int, name: str, arguments: str) -> None:
        label = find_label(name)
        if name in VERSIONS:
            version, _, arguments = arguments.partition(" ")
            label = f"{label} {version}".rstrip()
        self._label = f"{label}:"
        if arguments:
            self._begin_line(arguments, indent + 1)

    def _add_arguments(self, indent: int, arguments: str) -> None:
        """Begin a block with the arguments of a directive, such as the signature of a function."""
        if arguments:
            self._begin_line(arguments, indent + 1)
            if self._is_at_blank() or not self._lines[self._at].startswith(" " * (indent + 1)):
                self._end_block()


def _split_options(line: str) -> tuple[str, str]:
    """Split "-v, --verbose  Say more." into options and description; no options elsewhere."""
    options, _, description = line.partition("  ")
    if line[0] not in "-/" or not description or len(options) > _LONGEST_OPTIONS:
        return "", line
    are_options = all(_OPTION.fullmatch(option.strip()) for option in options.split(","))
    return (options, description.lstrip()) if are_options else ("", line)


def _find_table_ends(lines: Sequence[str]) -> list[int]:
    """Find where simple tables may end: borders before a blank line, or at the end of the file."""
    followed_by = [*lines[1:], ""]
    return [
        number
        for number, (line, next_line) in enumerate(zip(lines, followed_by, strict=True))
        if not next_line and SIMPLE_BORDER.match(line.lstrip())
    ]
