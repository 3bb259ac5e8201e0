"""Plain text, and text in whatever encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import pairwise

from convrag import Document
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
_MOST_CONTROLS = 1 / 200
_WRAPPED = 40
"""Characters from which on a line may have been broken because it was full."""


def read_text(content: bytes) -> Iterator[Document]:
    """Read plain text. A line that was broken within a sentence goes on in the next one."""
    yield Document("", join_wrapped_lines(decode(content)))


def decode(content: bytes) -> str:
    """Decode text: by its byte order mark, as UTF-8, or else as what chardet takes it for. Line ends become newlines.

    Raises:
        Unreadable: it is no text, or in no encoding that can be told.
    """
    text = _decode(content)
    if len(_CONTROL.findall(text)) > len(text) * _MOST_CONTROLS:
        raise Unreadable("it is binary, not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def join_wrapped_lines(text: str) -> str:
    """Replace line breaks within sentences by spaces: after a full line without a period, before a small letter.

    Every character keeps its place.
    """
    lines = text.split("\n")
    joined = [lines[0]]
    for last, line in pairwise(lines):
        joined.append(" " if _is_wrapped(last, line) else "\n")
        joined.append(line)
    return "".join(joined)


def _is_wrapped(line: str, following: str) -> bool:
    full = len(line) >= _WRAPPED and not line.endswith((".", "!", "?", ":", ";", "…", "|"))
    return full and following[:1].islower()


def _decode(content: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return _decode_as(content, encoding)
    try:
        if b"\0" not in content:
            return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    import chardet

    encoding = chardet.detect(content[:_SAMPLE])["encoding"]
    if encoding is None:
        raise Unreadable("it is no text, or in an encoding that cannot be told")
    return _decode_as(content, encoding)


def _decode_as(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"it looks like {encoding}, and is not: {error}") from error
