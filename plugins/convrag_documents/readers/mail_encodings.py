"""The encoding of text in a mail, which declares it, often with a wrong or an unknown name."""

import codecs
import re

from convrag_documents.readers.encoding import decode

_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WESTERN = "cp1252"
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

_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 4096
"""Bytes at the beginning of a page in which it may declare its encoding."""


def decode_mail_text(content: bytes, *names: str) -> str:
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
    if content.startswith(_BYTE_ORDER_MARKS):
        return decode(content)
    seven_bit = [encoding for encoding in encodings if encoding.startswith(_SEVEN_BIT)]
    for encoding in (*seven_bit, "utf-8", *encodings):
        text = _try_encoding(content, encoding)
        if text is not None and "\0" not in text:  # zero bytes are those of UTF-16
            return decode(text.encode("utf-8", "surrogatepass"))
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


def find_declared_encoding(page: bytes) -> str:
    """Find the name of the encoding that a page declares; empty where it declares none."""
    declared = _DECLARED.search(page[:_DECLARED_WITHIN])
    return declared[1].decode("ascii", "replace") if declared else ""
