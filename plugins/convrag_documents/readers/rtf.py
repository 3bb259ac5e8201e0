"""RTF, the Rich Text Format: paragraphs, headings, lists and tables.

Text boxes are read where they are anchored; footnotes follow their paragraph; headers and footers
are at the beginning, since they belong to no section. No library that is kept up reads these:
striprtf leaves them out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from convrag import Document
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.raised_text import Position
from convrag_documents.readers.rtf_flow import BODY, Block, Flow
from convrag_documents.readers.rtf_tokens import (
    CODECS_BY_CHARSET,
    WESTERN,
    Token,
    find_codec_of_page,
    split_tokens,
)
from convrag_documents.readers.text_builder import TextBuilder

_SIGNS = {
    "tab": " ",
    "line": "\n",
    "softline": "\n",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "~": " ",
    "_": "-",
    "{": "{",
    "}": "}",
    "\\": "\\",
}
"""Control words and signs, and their text."""

_NAMES_LEFT_OUT = """
    annotation colortbl do fldinst filetbl ftncn ftnsep ftnsepc info mbegChr mendChr msepChr
    nonesttables nonshppict objdata pict private rxe shprslt sp tc template txe upr xe
"""
_LEFT_OUT = frozenset(_NAMES_LEFT_OUT.split())
"""Destinations that are not text."""

_STARRED_TEXT = frozenset(["shpinst", "shptxt", "ud", "do", "moMath", "nesttableprops"])
"""Destinations with text in them, although a program that does not know them may skip them."""

_PARAGRAPH_ENDS = frozenset(["par", "sect", "page", "\n", "\r"])
_CELL_ENDS = frozenset(["cell", "nestcell"])
_ROW_ENDS = frozenset(["row", "nestrow"])
_HIDDEN = frozenset(["v", "deleted"])

_LOWEST = 9
_GROUPS_OF_TEXT = 2
"""The group of the file, and the one around it: they are no note, whatever they say."""

_DEEPEST = 1_000
"""Groups within each other that are read; Word needs less than a hundred."""

Kind = Literal["text", "skipped", "fonts", "styles", "box", "note", "margin", "mark"]
"""What a group is, and all within it that is not another destination."""

_MARGINS = ("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf")
_APART: dict[str, Kind] = {
    "shptxt": "box",
    "dptxbxtext": "box",
    "footnote": "note",
    "listtext": "mark",
    "pntext": "mark",
    **dict.fromkeys(_MARGINS, "margin"),
}
"""Destinations whose text is not part of the paragraph around it."""

_POSITIONS: dict[str, Position] = {
    "super": "super",
    "up": "super",
    "msup": "super",
    "sub": "sub",
    "dn": "sub",
    "msub": "sub",
    "nosupersub": "",
}
_CODECS = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}


def read_rtf(content: bytes) -> Iterator[Document]:
    """Read a file with its text boxes and notes."""
    if not content.startswith(b"{\\rtf"):
        raise Unreadable("this is no RTF")
    builder = TextBuilder()
    for level, text in _RtfReader().read(content):
        if level == BODY:
            builder.add(text)
        else:
            builder.add_heading(level, text)
    yield builder.build()


@dataclass(slots=True)
class _Group:
    """What holds for a group, until it ends or says something else.

    Args:
        kind: what it is.
        flow: where its text goes.
        codec: the encoding of its letters.
        position: of its text.
        level: of its paragraphs.
        in_table: whether its paragraphs are in a table.
        hidden: whether its text is hidden or deleted.
        replaced: letters that stand for each character of Unicode, for old programs.
        starred: whether it begins with a star, so that only known destinations are text.
        opens: the kind of destination that begins with this group, and ends with it.
    """

    kind: Kind
    flow: Flow
    codec: str = WESTERN
    position: Position = ""
    level: int = BODY
    in_table: bool = False
    hidden: bool = False
    replaced: int = 1
    starred: bool = False
    opens: Kind | None = None

    def begin_inner(self) -> "_Group":
        """Make the group within it, for which the same holds."""
        return _Group(
            self.kind,
            self.flow,
            self.codec,
            self.position,
            self.level,
            self.in_table,
            self.hidden,
            self.replaced,
        )


_TOO_DEEP = _Group("skipped", Flow())
"""Any group that is nested too deep to be read."""


@dataclass
class _Styles:
    """Fonts and styles.

    Args:
        page: the encoding of fonts that name none.
        font: the font that is being described, or the one of letters without a font.
        codecs: number of a font -> encoding.
        levels: number of a style -> level of a heading.
        style: the style that is being described.
        name: the name of that style.
    """

    page: str = WESTERN
    font: int = 0
    default_font: int = 0
    codecs: dict[int, str] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)
    style: int = 0
    name: str = ""


class _RtfReader:
    """Reads a file token by token."""

    def __init__(self) -> None:
        self._text = Flow()
        self._margins: list[Block] = []
        """Headers and footers, each once."""
        self._styles = _Styles()
        self._groups = [_Group("text", self._text)]
        self._letters: list[bytes] = []
        """Letters that are not decoded yet: one may have several bytes."""
        self._skip = 0
        """Letters to skip after a character of Unicode."""
        self._half = ""
        """The first half of a pair of surrogates."""

    def read(self, content: bytes) -> list[Block]:
        """Return the blocks of a file."""
        for token in split_tokens(content):
            if token.kind == "letters":
                self._read_letters(token.letters)
                continue
            self._end_letters()
            if token.kind == "open":
                is_too_deep = len(self._groups) > _DEEPEST
                self._groups.append(_TOO_DEEP if is_too_deep else self._group.begin_inner())
            elif token.kind == "close":
                self._close_group()
            else:
                self._read_word(token)
        self._end_letters()
        while len(self._groups) > 1:  # the file is cut off
            self._close_group()
        return [*self._margins, *self._text.finish()]

    @property
    def _group(self) -> _Group:
        return self._groups[-1]

    def _close_group(self) -> None:
        self._skip = 0
        if len(self._groups) == 1:  # a brace too many
            return
        group = self._groups.pop()
        if group.kind == "styles":
            self._end_style()
        if group.opens is None:
            return
        around = self._group
        blocks = group.flow.finish()
        if group.opens == "note":
            around.flow.add_note(blocks)
        elif group.opens == "box":
            around.flow.add_box(blocks, in_table=around.in_table)
        elif group.opens == "margin":
            self._margins += [block for block in blocks if block not in self._margins]
        else:
            mark = " ".join(text for _, text in blocks).strip()
            has_number = any(letter.isalnum() for letter in mark)
            around.flow.mark = mark if has_number else "-"

    def _read_letters(self, letters: bytes) -> None:
        skipped = min(self._skip, len(letters))
        self._skip -= skipped
        if self._group.kind != "skipped":
            self._letters.append(letters[skipped:])

    def _end_letters(self) -> None:
        """Decode the letters since the last control word."""
        if self._letters:
            letters = b"".join(self._letters)
            self._letters = []
            self._add(letters.decode(self._group.codec, "replace"))

    def _add(self, text: str) -> None:
        group = self._group
        if group.kind == "styles":
            self._styles.name += text
        elif group.kind not in ("skipped", "fonts") and not group.hidden:
            group.flow.add(text, group.position)

    def _read_word(self, token: Token) -> None:
        """Read a control word: a destination, a property, or a text of its own."""
        word = token.word
        group = self._group
        self._skip = 0
        if group is _TOO_DEEP:
            return
        if word == "*":
            group.starred = True
        elif self._begins_destination(word):
            pass
        elif group.kind == "fonts":
            self._read_font(token)
        elif group.kind == "styles":
            self._read_style(token)
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word == "u":
            self._add_unicode(token.number or 0)
        elif group.kind != "skipped":
            self._read_property(token)
            self._end_parts(word)

    def _begins_destination(self, word: str) -> bool:
        """Whether a word begins a destination, which it then does."""
        group = self._group
        if group.kind == "skipped" and word != "ud":
            return True
        opened = _APART.get(word)
        is_text = len(self._groups) <= _GROUPS_OF_TEXT or group.opens is not None
        if opened is not None and not is_text:
            group.kind = group.opens = opened
            group.flow = Flow()
            group.in_table = False
            group.level = BODY
            group.position = ""
            return True
        if word in ("fonttbl", "stylesheet"):
            group.kind = "fonts" if word == "fonttbl" else "styles"
            return True
        if word == "ud":
            group.kind = "text"
            return True
        is_starred = group.starred
        group.starred = False  # only the word after the star is meant
        is_left_out = word in _LEFT_OUT
        if is_starred and group.kind not in ("fonts", "styles"):
            is_left_out = word not in _STARRED_TEXT
        if is_left_out:
            group.kind = "skipped"
        return is_left_out

    def _read_font(self, token: Token) -> None:
        """Read the encoding of a font."""
        styles = self._styles
        if token.word == "f":
            styles.font = token.number or 0
        elif token.word == "fcharset" and token.number in CODECS_BY_CHARSET:
            styles.codecs[styles.font] = CODECS_BY_CHARSET[token.number]
        elif token.word == "cpg":
            styles.codecs[styles.font] = find_codec_of_page(token.number)

    def _read_style(self, token: Token) -> None:
        """Read whether a style is that of headings."""
        styles = self._styles
        if token.word == "s":
            styles.style = token.number or 0
        elif token.word == "outlinelevel":
            styles.levels[styles.style] = _find_level(token.number)

    def _end_style(self) -> None:
        """Read the level of a style by its name, which Word keeps in English."""
        heading, _, number = self._styles.name.strip(" ;").lower().partition(" ")
        if heading == "heading" and number.isdecimal() and len(number) == 1:
            self._styles.levels[self._styles.style] = int(number)
        self._styles.name = ""
        self._styles.style = 0

    def _read_property(self, token: Token) -> None:
        """Read what holds for the text that follows in the group."""
        group = self._group
        styles = self._styles
        word, number = token.word, token.number
        is_on = number != 0
        if word == "f":
            group.codec = styles.codecs.get(number or 0, styles.page)
        elif word == "ansicpg":
            styles.page = group.codec = find_codec_of_page(number)
        elif word in _CODECS:
            styles.page = group.codec = _CODECS[word]
        elif word == "deff":
            styles.default_font = number or 0
        elif word == "uc":
            group.replaced = number or 0
        elif word in _POSITIONS:
            group.position = _POSITIONS[word] if is_on else ""
        elif word == "mden":  # of a fraction
            self._add("/")
        elif word in _HIDDEN:
            group.hidden = is_on
        elif word == "plain":
            group.codec = styles.codecs.get(styles.default_font, styles.page)
            group.position = ""
            group.hidden = False
        elif word == "pard":
            group.in_table = False
            group.level = BODY
        elif word == "intbl":
            group.in_table = is_on
        elif word == "s":
            group.level = styles.levels.get(number or 0, BODY)
        elif word == "outlinelevel":
            group.level = _find_level(number)

    def _end_parts(self, word: str) -> None:
        """End a paragraph, a cell or a row."""
        group = self._group
        if word in _PARAGRAPH_ENDS:
            group.flow.end_paragraph(group.level, in_table=group.in_table)
        elif word in _CELL_ENDS:
            group.flow.end_cell()
        elif word in _ROW_ENDS:
            group.flow.end_row()

    def _add_unicode(self, number: int) -> None:
        """Add a character of UTF-16; the letters after it stand for it in old programs."""
        self._skip = self._group.replaced
        character = chr(number % 0x10000)
        if "\ud800" <= character < "\udc00":
            self._half = character
            return
        pair = (self._half + character).encode("utf-16-le", "surrogatepass")
        self._half = ""
        self._add(pair.decode("utf-16-le", "replace"))


def _find_level(outline: int | None) -> int:
    """Return the level of a heading; outline level 9 is that of the body."""
    level = (outline or 0) + 1
    return level if 1 <= level <= _LOWEST else BODY
