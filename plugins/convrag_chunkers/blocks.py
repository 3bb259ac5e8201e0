"""The blocks of a text: paragraphs, lists, tables and code, as Markdown and plain text write them."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from convrag_chunkers.sentence_spans import find_sentences
from convrag_chunkers.token_spans import trim_span

Kind = Literal["paragraph", "list", "table", "code"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+•◦▪‣–]|\d{1,9}[.)])[ \t]")
_ROW = re.compile(r"[^:;\n]{1,80}: [^;\n]*; [^:;\n]{1,80}: ")
"""A row of a table, as dataset=documents writes it: "item: laptop; price: 1200"."""
_LINE = re.compile(r"[^\n]*\n?")


class Block(NamedTuple):
    """A block: its kind, its first character, and the one after its last; without white space around it."""

    kind: Kind
    start: int
    end: int

    def find_parts(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield what the block can be cut into: the lines of tables and code, the sentences and items of others."""
        if self.kind in ("paragraph", "list"):
            yield from find_sentences(text, self.start, self.end)
            return
        for line in _LINE.finditer(text, self.start, self.end):
            start, end = line.start(), trim_span(text, *line.span())[1]
            if text[start:end].strip():
                yield start, end


def find_blocks(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield the blocks of a span in order. Every character that is no white space is in one of them.

    A blank line ends a block, except in a list (where an item or an indented line goes on) and within a fence of code.
    """
    kind: Kind = "paragraph"
    first: int | None = None
    last, blank, fence = start, False, ""
    for line in _LINE.finditer(text, start, end):
        if fence:
            last = line.end()
            if _closes(line[0], fence):
                fence = ""
            continue
        if not line[0].strip():
            blank = True
            continue
        of = _get_kind(line[0])
        if first is not None and not _goes_on(kind, of, line[0], blank):
            yield Block(kind, *_trim_lines(text, first, last))
            first = None
        if first is None:
            kind, first = of, line.start()
        if of == "code" and (mark := _FENCE.match(line[0])):
            fence = mark[1]
        last, blank = line.end(), False
    if first is not None:
        yield Block(kind, *_trim_lines(text, first, last))


def _get_kind(line: str) -> Kind:
    """What a line begins, where it goes on with nothing."""
    if _FENCE.match(line):
        return "code"
    if line.lstrip().startswith("|") or "\t" in line.strip() or " | " in line or _ROW.match(line):
        return "table"
    return "list" if _ITEM.match(line) else "paragraph"


def _goes_on(kind: Kind, of: Kind, line: str, blank: bool) -> bool:
    """Whether a line belongs to the block before it: `kind` is the block's, `of` the line's own."""
    if kind == "code" or of == "code":
        return kind == "list" and not blank and line[:1].isspace()
    if kind == "list":
        return of == "list" or not blank or line[:1].isspace()
    if blank:
        return False
    return kind == of


def _closes(line: str, fence: str) -> bool:
    found = line.strip()
    return len(found) >= len(fence) and not found.strip(fence[0])


def _trim_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out the white space after a block, and blank lines before it: the indentation of code is part of it."""
    return start, trim_span(text, start, end)[1]
