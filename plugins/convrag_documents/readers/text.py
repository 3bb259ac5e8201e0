"""Plain text, text in whatever encoding, and how all readers put the text of a document together."""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from convrag import Document
from convrag.sdk.types import Heading
from convrag_documents.unreadable import Unreadable

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SAMPLE = 100_000  # bytes from which an encoding is told
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_MULTIBYTE = (
    "utf",
    "shift",
    "euc",
    "gb",
    "big5",
    "iso-2022",
    "johab",
    "hz",
    "cp932",
    "cp949",
    "cp950",
)
_BINARY = "it is binary, not text"
_WORD = re.compile(r"[^\W\d_]+")
_WESTERN = "cp1252"
_MOST_CONTROLS = 1 / 200
_LONGEST_LINE = 5000
"""Characters of a line of source code, YAML and the like."""
_WRAPPED = 40
"""Characters from which on a line may have been broken because it was full."""


def read_text(content: bytes) -> Iterator[Document]:
    """Read plain text. A line that was broken within a sentence goes on in the next one."""
    yield Document("", join_wrapped_lines(decode(content)))


def read_code(content: bytes) -> Iterator[Document]:
    """Read source code, YAML and the like: every line stays one. What no person wrote is not read."""
    text = decode(content)
    if (longest := max(map(len, text.split("\n")))) > _LONGEST_LINE:
        raise Unreadable(f"it is minified or generated: a line has {longest:,} characters")
    yield Document("", text)


def read_rtf(content: bytes) -> Iterator[Document]:
    """Read a file in the Rich Text Format: a line for each paragraph."""
    from striprtf.striprtf import rtf_to_text

    if not content.startswith(b"{\\rtf"):
        raise Unreadable("this is no RTF")
    yield Document("", rtf_to_text(content.decode("latin-1"), errors="replace"))


def decode(content: bytes) -> str:
    """Decode text: by its byte order mark, as UTF-8, or else as what chardet takes it for. Line
    ends become newlines.

    Raises:
        Unreadable: it is no text, or in no encoding that can be told.
    """
    text = _decode(content)
    if len(_CONTROL.findall(text)) > len(text) * _MOST_CONTROLS:
        raise Unreadable(_BINARY)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def join_wrapped_lines(text: str, *, full: int | None = None) -> str:
    """Replace line breaks within sentences by spaces: after a line of words without a period,
    before a small letter.

    Every character keeps its place.

    Args:
        text: the text.
        full: characters of a line that goes on in the next one even before a capital, if it ends
            with a small letter; None where lines may be entries of a list or a log.
    """
    lines = text.split("\n")
    joined = [lines[0]]
    for last, line in pairwise(lines):
        goes_on = _is_wrapped(last, line) or (
            full is not None and len(last) >= full and _may_go_on(last, line)
        )
        joined.append(" " if goes_on else "\n")
        joined.append(line)
    return "".join(joined)


def join_cells(rows: Iterable[Iterable[str]]) -> str:
    """A table as text: a line for each row that is not empty, with bars between its cells."""
    lines = (" | ".join(filter(None, (" ".join(cell.split()) for cell in row))) for row in rows)
    return "\n".join(filter(None, lines))


def _is_wrapped(line: str, following: str) -> bool:
    ends = len(line) < _WRAPPED or line.endswith((".", "!", "?", ":", ";", "…", "|"))
    return not ends and following[:1].islower()


def _may_go_on(line: str, following: str) -> bool:
    return (line[-1:].islower() or line.endswith(",")) and (
        following[:1].isupper() or following.startswith("(")
    )


def _decode(content: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return _decode_as(content, encoding)
    if b"\0" in content[:_SAMPLE]:
        encoding = _guess_encoding(content, 0)
        if not encoding.lower().startswith("utf"):
            raise Unreadable(_BINARY)
        return _decode_as(content, encoding)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "replace")
        if len(text) - len(text.encode("ascii", "ignore")) > 10 * text.count("\ufffd"):
            return text  # UTF-8 with some damaged letters
        return _decode_as(content, _guess_encoding(content, error.start))


def _guess_encoding(content: bytes, start: int) -> str:
    """Guess the encoding of text that is not UTF-8 from what stands around the first byte that
    shows it.
    """
    import chardet

    sample = content[max(0, start - _SAMPLE // 10) // 4 * 4 :][:_SAMPLE]
    encoding = chardet.detect(sample)["encoding"] or _WESTERN
    if encoding.lower().startswith(_MULTIBYTE):
        return encoding
    words = [
        word for word in _WORD.findall(sample.decode(encoding, "replace")) if not word.isascii()
    ]
    return _WESTERN if sum(map(_mixes_scripts, words)) > len(words) / 2 else encoding


def _mixes_scripts(word: str) -> bool:
    """Whether a word has letters of ASCII, and letters that are not of the Latin script: "Grцяe",
    which is "Größe".
    """
    latin = [unicodedata.name(letter, "").startswith("LATIN ") for letter in word]
    return any(map(str.isascii, word)) and not all(latin)


def _decode_as(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"it looks like {encoding}, and is not: {error}") from error


_GAP = "\n\n"


class TextBuilder:
    """Collects the blocks of a document, between which it puts blank lines.

    Args:
        page_name: what a page is called: "page", "slide".
    """

    def __init__(self, page_name: str = "page") -> None:
        self.title = ""
        self._page_name = page_name
        self._blocks: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[int] = []

    def __bool__(self) -> bool:
        """Whether there is any text."""
        return bool(self._blocks)

    def add(self, block: str, headings: Iterable[Heading] = ()) -> None:
        """Add a paragraph, a list or a table; nothing where it is blank.

        Args:
            block: the text.
            headings: those within it, with their places in it.
        """
        stripped = block.lstrip()
        shift = self._next_start - (len(block) - len(stripped))
        block = stripped.rstrip()
        if not block:
            return
        self._headings.extend(replace(heading, start=heading.start + shift) for heading in headings)
        self._length = self._next_start + len(block)
        self._blocks.append(block)

    def add_heading(self, level: int, text: str) -> None:
        """Add a heading as a block of its own."""
        if line := " ".join(text.split()):
            self.add(line, [Heading(0, level, line)])

    def begin_page(self) -> None:
        """Begin a page. What was added before the first one belongs to it."""
        self._pages.append(self._next_start if self._pages else 0)

    def build(self) -> Document:
        """Make the document."""
        return Document(
            id="",
            text=_GAP.join(self._blocks),
            title=" ".join(self.title.split()),
            headings=tuple(self._headings),
            pages=tuple(min(start, self._length) for start in self._pages),
            page_name=self._page_name,
        )

    @property
    def _next_start(self) -> int:
        return self._length + len(_GAP) if self._blocks else 0
