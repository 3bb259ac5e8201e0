"""chunker=markdown: the sections of a document, whatever its format."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge

from convrag import Chunker, Document, Passage
from convrag.sdk.data.document_passages import cut_passages, is_heading_alone
from convrag.sdk.text.sentences import find_sentence_spans
from convrag_chunkers.tokens import choose_part, count_tokens, cut_lines, trim_span

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
        """Yield what the block can be cut into: the lines of tables and code, the sentences and
        items of others.
        """
        if self.kind in ("paragraph", "list"):
            yield from find_sentence_spans(text, self.start, self.end)
            return
        for line in _LINE.finditer(text, self.start, self.end):
            start, end = line.start(), trim_span(text, *line.span())[1]
            if text[start:end].strip():
                yield start, end


def find_blocks(text: str, start: int, end: int) -> Iterator[Block]:
    """Yield the blocks of a span in order. Every character that is no white space is in one of
    them.

    A blank line ends a block, except in a list (where an item or an indented line goes on) and
    within a fence of code.
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
            yield Block(
                kind, first, trim_span(text, first, last)[1]
            )  # the indentation of code is part of it
            first = None
        if first is None:
            kind, first = of, line.start()
        if of == "code" and (mark := _FENCE.match(line[0])):
            fence = mark[1]
        last, blank = line.end(), False
    if first is not None:
        yield Block(kind, first, trim_span(text, first, last)[1])


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


class SectionChunker(Chunker):
    """Make a passage of each section, with the path of its headings as title.

    It goes by the document's headings, which HTML, DOCX, PDF and others have as well as Markdown. A
    heading without text of its own belongs to its first subsection, and short sections that follow
    each other under one heading are joined. A longer section is cut between paragraphs, lists,
    tables and blocks of code, which stay whole if they fit; then between sentences, lines of code
    or rows; then between lines and words.

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
        """The passages in their order; all of the text is in them."""
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
        pieces = [*_make_pieces(text, [(block.start, block.end)], block)]
        while pieces:
            piece = pieces.pop()
            room = tokens - (held.tokens if held else 0)
            if piece.tokens <= room:
                held = _Piece(
                    held.start if held else piece.start, piece.end, tokens - room + piece.tokens
                )
            elif piece.block and (piece.tokens > tokens or tokens - room < smallest):
                pieces += reversed([*_make_pieces(text, piece.block.find_parts(text))])
            elif piece.tokens > tokens:
                pieces += reversed(
                    [*_make_pieces(text, cut_lines(text, piece.start, piece.end, tokens))]
                )
            else:
                assert held is not None
                yield held.start, held.end
                held = piece._replace(block=None)
    if held is not None:
        yield held.start, held.end


def _make_pieces(
    text: str, spans: Iterable[tuple[int, int]], block: Block | None = None
) -> Iterator[_Piece]:
    """Yield the pieces at these spans, without white space around them."""
    for span in spans:
        start, end = trim_span(text, *span)
        yield _Piece(start, end, count_tokens(text, start, end), block)


class Section(NamedTuple):
    """One or more sections in a row, as a span without white space around it.

    `level` is the level of the highest heading in it, 0 for what stands before the first heading.
    `open_level` is the level of the heading without text that it ends with, or None.
    """

    start: int
    end: int
    tokens: int
    level: int
    open_level: int | None = None


def list_sections(document: Document) -> Iterator[Section]:
    """Yield the sections in order, without blank ones. A heading without text is joined to its
    first subsection.
    """

    def belongs(held: Section, section: Section) -> bool:
        return held.open_level is not None and section.level > held.open_level

    return _join_where(_split_at_headings(document), belongs)


def join_sections(sections: Iterable[Section], smallest: int) -> Iterator[Section]:
    """Join sections of fewer tokens than `smallest` in a row until they have so many together.

    A section whose heading stands above the headings of the sections before it begins another row.
    """

    def belongs(held: Section, section: Section) -> bool:
        return held.tokens < smallest > section.tokens and section.level >= held.level

    return _join_where(sections, belongs)


def _join_where(
    sections: Iterable[Section], belongs: Callable[[Section, Section], bool]
) -> Iterator[Section]:
    """Join each section to those before it, as far as these have been joined, where it belongs to
    them.
    """
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
    levels = {
        heading.start: heading.level
        for heading in document.headings
        if 0 <= heading.start < len(text)
    }
    starts = sorted({0, *levels})
    for first, last in zip(starts, [*starts[1:], len(text)], strict=True):
        start, end = trim_span(text, first, last)
        if start < end:
            level = levels.get(first, 0)
            alone = first in levels and is_heading_alone(text, start, end)
            yield Section(
                start, end, count_tokens(text, start, end), level, level if alone else None
            )


def _join(one: Section, other: Section) -> Section:
    return Section(
        one.start,
        other.end,
        one.tokens + other.tokens,
        min(one.level, other.level),
        other.open_level,
    )
