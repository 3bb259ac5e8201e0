"""The encoding of text: turns the bytes of a text file into text."""

import codecs
import re
import unicodedata

from convrag_documents.unreadable import Unreadable

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
_WORD = re.compile(r"[^\W\d_]+")
_SUPERSETS = {
    "ascii": "",  # where it is true, the text is UTF-8
    "iso8859-1": _WESTERN,
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""An encoding -> the larger one of Windows that is used under its name, as browsers read it."""

_ALIASES = {
    "ks_c_5601-1987": "cp949",
    "x-sjis": "cp932",
    "unicode-1-1-utf-7": "utf-7",
    "dos-874": "cp874",
}
"""Names in mails and pages that Python does not know, and their encodings."""

_NAME_PREFIXES = ("x-", "cs", "windows-", "cp-", "ibm-", "ms-")
_LONGEST_NAME = 40
_SHORTEST_NAME = 3
_NO_ENCODINGS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
"""Names that Python knows, which are not encodings of text in files."""

_SEVEN_BIT = ("iso2022", "hz", "utf-7")
"""Encodings whose bytes are those of ASCII, so that they would pass as UTF-8."""

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
    if not _is_text(text):
        raise Unreadable(_BINARY)
    return _unify_line_ends(text)


def decode_declared(content: bytes, *names: str) -> str:
    """Decode text by its byte order mark, as UTF-8, as it declares, or as chardet guesses.

    UTF-8 comes first, since text in another encoding is hardly ever valid UTF-8, and a name is
    often wrong.

    Args:
        content: the bytes.
        names: the encodings that are declared, the most reliable first; unknown and empty ones are
            passed over.

    Raises:
        Unreadable: it is not text, or its encoding cannot be guessed.
    """
    encodings = [encoding for encoding in map(find_encoding, names) if encoding]
    has_mark = content.startswith(tuple(_BYTE_ORDER_MARKS))
    if has_mark:
        return decode(content)
    seven_bit = [encoding for encoding in encodings if encoding.startswith(_SEVEN_BIT)]
    for encoding in (*seven_bit, "utf-8", *encodings):
        text = _try_encoding(content, encoding)
        if text is not None and _is_text(text):
            return _unify_line_ends(text)
    return decode(content)


def find_encoding(name: str) -> str:
    """Find Python's name of a declared encoding; empty for one that nobody knows.

    Windows' encodings take the place of their subsets, as in browsers.
    """
    name = name.strip("\"' \t").lower()[:_LONGEST_NAME]
    name = _ALIASES.get(name, name)
    without_prefixes = [name.removeprefix(prefix) for prefix in _NAME_PREFIXES]
    code_pages = [f"cp{each}" for each in without_prefixes if each != name]
    for each in (name, *without_prefixes, *code_pages):
        encoding = _find_beginning(each)
        if encoding:
            return _SUPERSETS.get(encoding, encoding)
    return ""


def _find_beginning(name: str) -> str:
    """Find the longest known name that a name begins with: iso-8859-8-i, utf-8mb4.

    A number stays whole: ISO-8859-12, which there is not, does not begin with ISO-8859-1.
    """
    for end in range(len(name), _SHORTEST_NAME - 1, -1):
        splits_number = name[end - 1 : end + 1].isdecimal() and end < len(name)
        encoding = "" if splits_number else _look_up(name[:end])
        if encoding:
            return encoding
    return ""


def _look_up(name: str) -> str:
    try:
        encoding = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    return "" if encoding in _NO_ENCODINGS else encoding


def _try_encoding(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _is_text(text: str) -> bool:
    return len(_CONTROL.findall(text)) <= len(text) * _MOST_CONTROLS


def _unify_line_ends(text: str) -> str:
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
        if _is_mostly_utf8(text):
            return text
        return _decode_as(content, _guess_encoding(content, error.start))


def _decode_utf16_without_mark(content: bytes) -> str:
    """Decode text with zero bytes, which are part of UTF-16 and UTF-32 alone."""
    encoding = _guess_encoding(content, 0)
    if not encoding.lower().startswith("utf"):
        raise Unreadable(_BINARY)
    return _decode_as(content, encoding)


def _is_mostly_utf8(text: str) -> bool:
    """Tell UTF-8 with a few damaged letters from text in another encoding.

    Args:
        text: decoded as UTF-8, with a replacement character for each damaged letter.
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
