"""The encoding of text: turns the bytes of a text file into text."""

import codecs
import re
import unicodedata

from convrag.sdk.text.unreadable import Unreadable

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SAMPLE = 100_000
"""Bytes from which the encoding is guessed."""

_BEFORE_SAMPLE = _SAMPLE // 10
"""Bytes of the sample that come before the first byte that is not UTF-8."""

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
"""Beginnings of the names of encodings with several bytes a letter."""

_WESTERN = "cp1252"
_NO_ENCODINGS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
"""Names that Python knows, which are not encodings of text in files."""

_DECLARED = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_DECLARED_WITHIN = 4096
"""Bytes at the beginning of a page in which it may declare its encoding."""

_WORD = re.compile(r"[^\W\d_]+")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_MOST_CONTROLS = 1 / 200
"""The share of control characters from which a file is binary."""

_BINARY = "it is binary, not text"


def decode(content: bytes) -> str:
    """Decode text by its byte order mark, as UTF-8, or as chardet guesses.

    Line ends become newlines.

    Raises:
        Unreadable: it is not text, or its encoding cannot be guessed.
    """
    text = _decode_any(content)
    if len(_CONTROL.findall(text)) > len(text) * _MOST_CONTROLS:
        raise Unreadable(_BINARY)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_page(content: bytes, label: str = "") -> str:
    """Decode a page of HTML as UTF-8, in the encoding that is declared, or as any other text.

    Args:
        content: the page.
        label: the encoding that its server declares; by default, the one that the page declares.

    Raises:
        Unreadable: it is not text, or its encoding cannot be guessed.
    """
    declared = label or find_declared_encoding(content)
    has_mark = content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not declared or has_mark or b"\0" in content:
        return decode(content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        text = decode_declared(content, declared)
        return decode(content) if text is None else text


def find_codec(label: str) -> str | None:
    """Find Python's name of an encoding as browsers understand its label; None if it is unknown.

    They read "iso-8859-1" as Windows-1252, "shift_jis" as Windows-31J and "gb2312" as GB 18030
    (https://encoding.spec.whatwg.org).
    """
    import webencodings

    found = webencodings.lookup(label)
    if found is None:
        return find_python_codec(label)
    name: str = found.codec_info.name
    return {"gbk": "gb18030", "x-user-defined": _WESTERN, "replacement": None}.get(name, name)


def find_python_codec(label: str) -> str | None:
    """Find an encoding of text that Python knows by a label; None if it knows none."""
    try:
        "".encode(label)  # raises LookupError for what is not an encoding of text, too
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    return None if name in _NO_ENCODINGS else name


def find_declared_encoding(page: bytes) -> str:
    """Find the label of the encoding that a page declares; empty where it declares none."""
    declared = _DECLARED.search(_COMMENT.sub(b"", page[:_DECLARED_WITHIN]))
    return declared[1].decode("ascii", "replace") if declared else ""


def decode_declared(content: bytes, label: str) -> str | None:
    """Decode text in the encoding that it declares; None if it is not in that encoding.

    A few damaged letters become replacement characters. A label of UTF-16 in a text whose letters
    have one byte means UTF-8.
    """
    codec = find_codec(label)
    if codec is None:
        return None
    if codec.startswith("utf-16") and b"\0" not in content:
        codec = "utf-8"
    text = content.decode(codec, "replace")
    if "\ufffd" in text and not _is_mostly_sound(text):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode_any(content: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return _decode_as(content, encoding)
    if b"\0" in content[:_SAMPLE]:
        return _decode_utf16_without_mark(content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "replace")
        if _is_mostly_sound(text):
            return text
        return _decode_as(content, _guess_encoding(content, error.start))


def _decode_utf16_without_mark(content: bytes) -> str:
    """Decode text with zero bytes, which are part of UTF-16 and UTF-32 alone."""
    encoding = _guess_encoding(content, 0)
    if not encoding.lower().startswith("utf"):
        raise Unreadable(_BINARY)
    return _decode_as(content, encoding)


def _is_mostly_sound(text: str) -> bool:
    """Tell a text with a few damaged letters from a text in another encoding.

    Args:
        text: decoded, with a replacement character for each damaged letter.
    """
    ascii_letters = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_letters
    damaged = text.count("\ufffd")
    return others > 10 * damaged


def _guess_encoding(content: bytes, start: int) -> str:
    """Guess the encoding from the bytes around the first one that is not UTF-8."""
    import chardet

    first = max(0, start - _BEFORE_SAMPLE) // 4 * 4  # UTF-32 has four bytes a letter
    sample = content[first : first + _SAMPLE]
    encoding = chardet.detect(sample)["encoding"] or _WESTERN
    if encoding.lower().startswith(_MULTIBYTE):
        return encoding
    words = _WORD.findall(sample.decode(encoding, "replace"))
    foreign = [word for word in words if not word.isascii()]
    mixed = [word for word in foreign if _mixes_scripts(word)]
    return _WESTERN if len(mixed) > len(foreign) / 2 else encoding


def _mixes_scripts(word: str) -> bool:
    """Tell whether a word mixes ASCII letters with another script, as "Grцяe" for "Größe"."""
    has_ascii = any(letter.isascii() for letter in word)
    all_latin = all(unicodedata.name(letter, "").startswith("LATIN ") for letter in word)
    return has_ascii and not all_latin


def _decode_as(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"it looks like {encoding}, and is not: {error}") from error
