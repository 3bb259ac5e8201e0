"""The tokens of RTF: groups, control words, and bytes, which are letters in the font's encoding."""

import codecs
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

WESTERN = "cp1252"

CODECS_BY_CHARSET = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    255: "cp850",
}
"""Number of a font's character set -> encoding."""

_CODECS_BY_PAGE = {10000: "mac_roman", 65001: "utf-8", 936: "gb18030"}

_TOKEN = re.compile(
    rb"([{}])"
    rb"|\\([A-Za-z]{1,32})(-?[0-9]{1,10})?[ ]?"
    rb"|\\'([0-9A-Fa-f]{2})"
    rb"|\\(.)"
    rb"|[\r\n]+"
    rb"|([^\\{}\r\n]+)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A part of a file.

    Args:
        kind: the beginning or the end of a group, a control word, or letters.
        word: the control word without its backslash: "par", or a sign such as "~".
        number: the number after the control word; None if there is none.
        letters: bytes in the encoding of the font.
    """

    kind: Literal["open", "close", "word", "letters"]
    word: str = ""
    number: int | None = None
    letters: bytes = b""


def split_tokens(content: bytes) -> Iterator[Token]:
    """Yield the tokens of a file, without the binary data of pictures."""
    position = 0
    while found := _TOKEN.match(content, position):
        position = found.end()
        brace, word, number, code, sign, letters = found.groups()
        if brace:
            yield Token("open" if brace == b"{" else "close")
        elif word == b"bin":
            position += max(0, int(number or 0))
        elif word:
            yield Token("word", word.decode(), int(number) if number else None)
        elif code:
            yield Token("letters", letters=bytes.fromhex(code.decode()))
        elif sign:
            yield Token("word", sign.decode("latin-1"))
        elif letters:
            yield Token("letters", letters=letters)


def find_codec_of_page(page: int | None) -> str:
    """Find the encoding of a code page of Windows, by its number."""
    name = _CODECS_BY_PAGE.get(page or 0, f"cp{page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return WESTERN
