"""The encoding of text in a mail, which declares it, often with a wrong or an unknown name."""

import codecs

from convrag.sdk.text.encodings import decode, find_codec, find_python_codec

_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ALIASES = {"unicode-1-1-utf-7": "utf-7"}
"""Names that neither browsers nor Python know, and their encodings."""

_NAME_PREFIXES = ("x-", "cs", "windows-", "cp-", "ibm-", "ms-")
_LONGEST_NAME = 40
_SHORTEST_NAME = 3
_SEVEN_BIT = ("iso2022", "hz", "utf-7")
"""Encodings whose bytes are those of ASCII, so that they would pass as UTF-8."""


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
    """Find Python's name of a declared encoding, as browsers understand it.

    It is empty for ASCII, and for a name that nobody knows.
    """
    name = name.strip("\"' \t").lower()[:_LONGEST_NAME]
    name = _ALIASES.get(name, name)
    without_prefixes = [name.removeprefix(prefix) for prefix in _NAME_PREFIXES]
    code_pages = [f"cp{each}" for each in without_prefixes if each != name]
    for each in (name, *without_prefixes, *code_pages):
        encoding = _find_beginning(each) or find_codec(each) or ""
        if encoding:
            return "" if encoding == "ascii" else encoding  # where it is true, it is UTF-8
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
    """Look up an encoding; mails also use those of seven bits, which browsers refuse."""
    encoding = find_python_codec(name)
    if encoding is None or encoding == "ascii" or encoding.startswith(_SEVEN_BIT):
        return encoding or ""
    found = find_codec(name)
    if found == encoding:  # "latin-1" is Python's name alone
        found = find_codec(encoding)
    return found or encoding


def _try_encoding(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):
        return None
