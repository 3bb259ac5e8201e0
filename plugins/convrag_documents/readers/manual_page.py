"""Manual pages (`git.1`), with their sections.

They are read without mandoc or groff, which few machines have (docs/documents.md says why): the
macros of man(7) and mdoc(7) become headings, paragraphs, terms and code.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

from convrag import Document
from convrag.sdk.text.encodings import decode
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.manual_text import read_escapes, read_words
from convrag_documents.readers.tables import format_named_rows
from convrag_documents.readers.text_builder import TextBuilder

_PAGE_MACRO = re.compile(r"^[.']\s*(?:TH|Dd|SH|Sh|so)\b", re.MULTILINE)
_MACRO = re.compile(r"[.']\s*([A-Za-z0-9\\{}]{1,30})\s*")
_SECTIONS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_PARAGRAPHS = frozenset(["PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "Bl", "El", "D1", "Dl"])
_CODE_STARTS = frozenset(["nf", "EX", "Bd"])
_CODE_ENDS = frozenset(["fi", "EE", "Ed"])
_FONTS = frozenset(["B", "I", "R", "SM", "SB", "CW"])
_ALTERNATING_FONTS = frozenset(["BR", "RB", "BI", "IB", "IR", "RI"])
_DEFINITIONS = frozenset(["de", "de1", "am", "ig"])
_SKIPPED = frozenset(
    ["DT", "PD", "UE", "ME", "AT", "UC", "YS", "Os", "Dd", "Bk", "Ek", "Rs", "Re", "Sm"]
)
"""Macros without a text. Names in small letters are requests of troff, which have none either."""


def read_manual_page(content: bytes) -> Iterator[Document]:
    """Read a page. Its name and its section, as "git(1)", are the title.

    Raises:
        Unreadable: it has none of the macros of a manual page.
    """
    text = decode(content)
    if not _PAGE_MACRO.search(text):
        raise Unreadable(
            "it is not a manual page, whose suffix it has (dataset.text names kinds of text)"
        )
    yield _Parser(text).parse()


def read_manual_page_or_text(content: bytes) -> Iterator[Document]:
    """Read a page, or a text with the suffix of one."""
    text = decode(content)
    yield _Parser(text).parse() if _PAGE_MACRO.search(text) else Document("", text)


class _Parser:
    """Reads the lines of a page, text and macros."""

    def __init__(self, text: str) -> None:
        joined = re.sub(r"\\\n", "", text)
        self._lines = joined.split("\n")
        self._at = 0
        self._builder = TextBuilder()
        self._words: list[str] = []
        """The pieces of the paragraph that is being read."""
        self._term: list[str] | None = None
        """The term before the paragraph, which defines it."""
        self._takes_term = False
        """Whether the next line is a term."""
        self._heading = 0
        """The level of the heading whose text is the next line; 0 for none."""
        self._code: list[str] | None = None
        """The lines of the code that is being read; None outside of code."""
        self._name = ""
        """The name of the program or function, which mdoc repeats."""

    def parse(self) -> Document:
        """Read all lines."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            found = _MACRO.match(line)
            if line.startswith((".", "'")):
                if found and '\\"' not in line[: found.end()]:
                    self._read_macro(found[1], line[found.end() :])
            elif self._code is not None:
                self._code.append(read_escapes(line))
            elif line.strip():
                self._add_text(read_escapes(line))
            else:
                self._end_paragraph()
        self._end_code()
        self._end_paragraph()
        return self._builder.build()

    def _read_macro(self, name: str, rest: str) -> None:
        arguments = _split_arguments(rest)
        if name in _SECTIONS:
            self._begin_section(_SECTIONS[name], arguments)
        elif name == "TH" or name == "Dt":
            self._builder.title = _name_page(arguments)
        elif name in _PARAGRAPHS:
            self._end_paragraph()
            if name in ("D1", "Dl"):
                self._add_text(read_words(arguments, self._name))
                self._end_paragraph()
        elif name in ("TP", "TQ"):
            self._begin_term()
        elif name == "IP":
            self._end_paragraph()
            self._term = [read_escapes(arguments[0])] if arguments else None
        elif name == "It":
            self._end_paragraph()
            term = read_words(arguments, self._name)
            self._term = [term] if term else None
        elif name in _CODE_STARTS:
            self._begin_code()
        elif name in _CODE_ENDS:
            self._end_code()
        elif name == "TS":
            self._read_table()
        elif name in _DEFINITIONS:
            self._skip_until(f".{arguments[-1]}" if len(arguments) > 1 else "..")
        elif name in ("EQ", "PS"):
            self._skip_until(".EN" if name == "EQ" else ".PE")
        elif name in ("UR", "MT"):
            return
        elif name in _FONTS:
            self._add_text(" ".join(read_escapes(each) for each in arguments))
        elif name in _ALTERNATING_FONTS:
            self._add_text("".join(read_escapes(each) for each in arguments))
        elif name not in _SKIPPED and name[0].isupper():
            self._read_mdoc(name, arguments)

    def _read_mdoc(self, name: str, arguments: Sequence[str]) -> None:
        """Read a macro of mdoc that stands within a text: ".Fl v" is "-v"."""
        if name == "Nm" and arguments and not self._name:
            self._name = arguments[0]
        if name == "Nd":
            self._add_text(f"- {read_words(arguments, self._name)}")
            return
        self._add_text(read_words([name, *arguments], self._name))

    def _begin_section(self, level: int, arguments: Sequence[str]) -> None:
        self._end_code()
        self._end_paragraph()
        text = read_escapes(" ".join(arguments))
        if text.strip():
            self._builder.add_heading(level, text)
        else:
            self._heading = level

    def _begin_term(self) -> None:
        """Begin a paragraph whose next line is a term; several terms may share a paragraph."""
        if self._term is None or self._words:
            self._end_paragraph()
            self._term = []
        self._takes_term = True

    def _add_text(self, text: str) -> None:
        if not text.strip():
            return
        if self._heading:
            self._builder.add_heading(self._heading, text)
            self._heading = 0
        elif self._code is not None:
            self._code.append(text)
        elif self._takes_term and self._term is not None:
            self._term.append(text)
            self._takes_term = False
        else:
            self._words.append(text.strip())

    def _end_paragraph(self) -> None:
        text = " ".join(self._words)
        term = ", ".join(self._term or ())
        if term in ("•", "*", "-", "–", "o", "+", "·"):
            self._builder.add(f"- {text}" if text else "")
        elif term and text:
            border = " " if term.endswith((".", ":", ")")) and len(term) < 5 else ": "
            self._builder.add(f"{term}{border}{text}")
        else:
            self._builder.add(term or text)
        self._words = []
        self._term = None
        self._takes_term = False

    def _begin_code(self) -> None:
        if self._code is None:
            self._end_paragraph()
            self._code = []

    def _end_code(self) -> None:
        lines, self._code = self._code, None
        if lines and any(line.strip() for line in lines):
            code = "\n".join(lines).strip("\n")
            self._builder.add(f"```\n{code}\n```")

    def _read_table(self) -> None:
        """Read a table of tbl(1): its formats end with a period, its cells stand between tabs."""
        self._end_paragraph()
        start = self._at
        self._skip_until(".TE")
        lines = self._lines[start : self._at - 1]
        formats_end = next((n for n, line in enumerate(lines) if line.rstrip().endswith(".")), -1)
        separator = re.search(r"\btab\s*\((.)\)", "\n".join(lines[: formats_end + 1]))
        sign = separator[1] if separator else "\t"
        rows = _split_table(lines[formats_end + 1 :], sign)
        shown = [[read_escapes(cell) for cell in row] for row in rows]
        self._builder.add("\n".join(format_named_rows(shown)))

    def _skip_until(self, end: str) -> None:
        """Go on after the line that ends a block."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.rstrip() == end:
                return


def _split_table(lines: Sequence[str], sign: str) -> list[list[str]]:
    """Split the lines of a table into rows; a cell of several lines is between "T{" and "T}"."""
    rows: list[list[str]] = []
    is_in_cell = False
    for line in lines:
        if is_in_cell and line.startswith("T}"):
            is_in_cell = False
            rows[-1] += line.split(sign)[1:]
        elif line.startswith((".", "'")):
            continue
        elif is_in_cell:
            rows[-1][-1] = f"{rows[-1][-1]} {line}".strip()
        elif line.strip("_= "):
            rows.append(line.split(sign))
        if rows and rows[-1][-1] == "T{":
            rows[-1][-1] = ""
            is_in_cell = True
    return rows


def _name_page(arguments: Sequence[str]) -> str:
    """Return the title of a page, as "git(1)"."""
    if not arguments:
        return ""
    name = read_escapes(arguments[0]).lower()
    return f"{name}({arguments[1]})" if len(arguments) > 1 else name


def _split_arguments(text: str) -> list[str]:
    """Split the arguments of a macro; quotes hold those with spaces together."""
    text = re.split(r'\s*\\"', text, maxsplit=1)[0]
    splitter = shlex.shlex(text, posix=True)
    splitter.whitespace_split = True
    splitter.quotes = '"'
    splitter.escape = ""
    splitter.commenters = ""
    try:
        return list(splitter)
    except ValueError:  # a quote is left open
        return text.replace('"', "").split()
