"""chunker=markdown: the sections of a document, whatever its format."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge

from convrag import Chunker, Document, Passage
from convrag.sdk.data.document_passages import cut_passages, is_heading_alone
from convrag.sdk.text.sentences import find_sentence_spans
from convrag_chunkers.table_rows import ROW
from convrag_chunkers.tokens import choose_part, count_tokens, cut_lines, trim_span

Kind = Literal["paragraph", "list", "table", "code"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+•◦▪‣–]|\d{1,9}[.)])[ \t]")
_LINE = re.compile(r"[^\n]*\n?")


class Block(NamedTuple):
    """A block, without white space around it.

    Args:
        kind: of block.
        start: its first character.
        end: the character after its last one.
    """

    kind: Kind
    start: int
    end: int

    def find_parts(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the parts of the block: the lines of tables and code, else sentences and items."""
        if self.kind in ("paragraph", "list"):
            yield from find_sentence_spans(text, self.start, self.end)
            return
        for line in _LINE.finditer(text, self.start, self.end):
            start = line.start()  # the indentation of code is part of it
            _, end = trim_span(text, start, line.end())
            if text[start:end].strip():
                yield start, end


def find_blocks(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield the blocks of a span in order; they contain all of it but white space.

    A blank line ends a block, except in a list (where an item or an indented line goes on) and
    within a fence of code.
    """
    kind: Kind = "paragraph"
    first: int | None = None
    last = start
    after_blank = False
    fence = ""
    for match in _LINE.finditer(text, start, end):
        line = match[0]
        if fence:
            last = match.end()
            if _closes(line, fence):
                fence = ""
            continue
        if not line.strip():
            after_blank = True
            continue
        line_kind = _get_kind(line)
        if first is not None and not _continues(kind, line_kind, line, after_blank=after_blank):
            yield _make_block(text, kind, first, last)
            first = None
        if first is None:
            kind = line_kind
            first = match.start()
        if line_kind == "code":
            fence = _get_fence(line)
        last = match.end()
        after_blank = False
    if first is not None:
        yield _make_block(text, kind, first, last)


def _make_block(text: str, kind: Kind, start: int, end: int) -> Block:
    """Make a block without white space at its end; the indentation of code is part of it."""
    _, end = trim_span(text, start, end)
    return Block(kind, start, end)


def _get_fence(line: str) -> str:
    """Return the fence that a line begins with; empty where it has none."""
    fence = _FENCE.match(line)
    return fence[1] if fence else ""


def _get_kind(line: str) -> Kind:
    """Return the kind of block that a line begins, unless it continues the block before it."""
    if _get_fence(line):
        return "code"
    has_cells = line.lstrip().startswith("|") or "\t" in line.strip() or " | " in line
    if has_cells or ROW.match(line):
        return "table"
    return "list" if _ITEM.match(line) else "paragraph"


def _continues(kind: Kind, line_kind: Kind, line: str, *, after_blank: bool) -> bool:
    """Whether a line continues a block of a kind."""
    is_indented = line[:1].isspace()
    if kind == "code" or line_kind == "code":
        return kind == "list" and is_indented and not after_blank
    if kind == "list":
        return line_kind == "list" or is_indented or not after_blank
    return kind == line_kind and not after_blank


def _closes(line: str, fence: str) -> bool:
    found = line.strip()
    return len(found) >= len(fence) and not found.strip(fence[0])


class SectionChunker(Chunker):
    """Make a passage of each section, with the path of its headings as title.

    Sections are found by the document's headings, which HTML, DOCX, PDF and others have as well as
    Markdown. A heading without text of its own belongs to its first subsection, and short sections
    that follow each other under one heading are joined. A longer section is cut between paragraphs,
    lists, tables and blocks of code, which stay whole if they fit; then between sentences, lines of
    code or rows; then between lines and words.

    Args:
        tokens: the most that a passage has. A token is up to six letters or digits of ASCII, three
            letters of another alphabet, one character of Chinese, Japanese or Korean, or another
            sign.
        smallest: a section with fewer tokens is joined to neighbours that have fewer, too, until
            they have so many; 0 joins none. At most half of `tokens`, and unless given a fifth.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: Annotated[int, Ge(1)] = 200, smallest: int | None = None) -> None:
        self.tokens = tokens
        self.smallest = choose_part("smallest", smallest, 5, tokens)

    def chunk(self, document: Document) -> Sequence[Passage]:
        """Return the passages in their order; they contain all of the text."""
        return list(cut_passages(document, self._find_spans(document)))

    def _find_spans(self, document: Document) -> Iterator[tuple[int, int]]:
        for section in join_sections(list_sections(document), self.smallest):
            if section.tokens <= self.tokens:
                yield section.start, section.end
            else:
                yield from fill_blocks(
                    document.text, section.start, section.end, self.tokens, self.smallest
                )


class _Piece(NamedTuple):
    """A span to put into a passage, its tokens, and its block, if it is a whole one."""

    start: int
    end: int
    tokens: int
    block: Block | None = None


def fill_blocks(
    text: str, start: int, end: int, tokens: int, smallest: int
) -> Iterator[tuple[int, int]]:
    """Yield spans of at most so many tokens, cut between blocks where that can be.

    Args:
        text: the text.
        start: the first character to read.
        end: the character after the last one.
        tokens: the most that a span has.
        smallest: a span with fewer tokens is filled with a part of the next block, if all of it
            does not fit.
    """
    held: _Piece | None = None
    for block in find_blocks(text, start, end):
        pieces = _make_pieces(text, [(block.start, block.end)], block)
        while pieces:
            piece = pieces.pop()
            used = held.tokens if held else 0
            if used + piece.tokens <= tokens:
                start = held.start if held else piece.start
                held = _Piece(start, piece.end, used + piece.tokens)
            elif piece.block and (piece.tokens > tokens or used < smallest):
                parts = _make_pieces(text, piece.block.find_parts(text))
                pieces += reversed(parts)
            elif piece.tokens > tokens:
                parts = _make_pieces(text, cut_lines(text, piece.start, piece.end, tokens))
                pieces += reversed(parts)
            else:
                assert held is not None
                yield held.start, held.end
                held = piece._replace(block=None)
    if held is not None:
        yield held.start, held.end


def _make_pieces(
    text: str, spans: Iterable[tuple[int, int]], block: Block | None = None
) -> list[_Piece]:
    """Return the pieces at these spans, without white space around them."""
    pieces = []
    for span in spans:
        start, end = trim_span(text, *span)
        pieces.append(_Piece(start, end, count_tokens(text, start, end), block))
    return pieces


class Section(NamedTuple):
    """One or more sections in a row, as a span without white space around it.

    Args:
        start: its first character.
        end: the character after its last one.
        tokens: the number of its tokens.
        level: of the highest heading in it; 0 for the text before the first heading.
        open_level: of the heading without text that it ends with, or None.
    """

    start: int
    end: int
    tokens: int
    level: int
    open_level: int | None = None


def list_sections(document: Document) -> Iterator[Section]:
    """Yield the sections that are not blank, in order.

    A heading without text is joined to its first subsection.
    """

    def belongs(held: Section, section: Section) -> bool:
        return held.open_level is not None and section.level > held.open_level

    return _join_where(_split_at_headings(document), belongs)


def join_sections(sections: Iterable[Section], smallest: int) -> Iterator[Section]:
    """Join sections of fewer tokens than `smallest` in a row until they have so many together.

    A section whose heading stands above the headings of the sections before it begins another row.
    """

    def belongs(held: Section, section: Section) -> bool:
        are_small = held.tokens < smallest and section.tokens < smallest
        return are_small and section.level >= held.level

    return _join_where(sections, belongs)


def _join_where(
    sections: Iterable[Section], belongs: Callable[[Section, Section], bool]
) -> Iterator[Section]:
    """Join each section to the joined sections before it, if it belongs to them."""
    held: Section | None = None
    for section in sections:
        if held is not None and belongs(held, section):
            held = _join(held, section)
            continue
        if held is not None:
            yield held
        held = section
    if held is not None:
        yield held


def _split_at_headings(document: Document) -> Iterator[Section]:
    text = document.text
    levels: dict[int, int] = {}
    for heading in document.headings:
        if 0 <= heading.start < len(text):
            levels[heading.start] = heading.level
    starts = sorted({0, *levels})
    for first, last in zip(starts, [*starts[1:], len(text)], strict=True):
        start, end = trim_span(text, first, last)
        if start == end:
            continue
        level = levels.get(first, 0)
        is_alone = first in levels and is_heading_alone(text, start, end)
        tokens = count_tokens(text, start, end)
        yield Section(start, end, tokens, level, open_level=level if is_alone else None)


def _join(one: Section, other: Section) -> Section:
    return Section(
        one.start,
        other.end,
        one.tokens + other.tokens,
        min(one.level, other.level),
        other.open_level,
    )
