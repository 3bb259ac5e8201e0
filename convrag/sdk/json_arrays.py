"""Reads users' files of JSON objects, one a line (JSONL) or the items of one array, item by item."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from convrag.api.errors import DataError
from convrag.sdk.jsonl import UNREADABLE, Line, check_is_file, open_unpacked, read_lines

_CHUNK = 1 << 16  # characters
_LONGEST_ITEM = 1 << 28  # characters; a quotation mark that is missing would have the rest of the file read
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{},]', re.DOTALL)  # a lone quotation mark: the string goes on


def read_objects(path: Path) -> Iterator[Line]:
    """Yield the texts of a file's JSON objects: its lines, or the items of the array that the file holds.

    A file whose first character is "[" holds an array, which may be written on one line or on many. It is read by
    pieces, so that it need not fit into memory. `Line.json` parses a text.

    Args:
        path: a UTF-8 file; a .gz or .zip file is unpacked while it is read.

    Raises:
        DataError: the file cannot be read, is not UTF-8, or holds an array that does not end or is followed by more.
    """
    check_is_file(path)
    return _split_array(path) if _begins_array(path) else read_lines(path)


def _begins_array(path: Path) -> bool:
    try:
        with open_unpacked(path) as file:
            while chunk := file.read(_CHUNK):
                if begin := chunk.removeprefix(b"\xef\xbb\xbf").lstrip():
                    return begin[:1] == b"["
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error
    return False


def _split_array(path: Path) -> Iterator[Line]:
    splitter = _Splitter(path)
    try:
        with open_unpacked(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
            while chunk := file.read(splitter.wanted):
                yield from splitter.split(chunk)
    except UnicodeDecodeError as error:
        raise DataError(f"this is not UTF-8 ({error.reason})", path=path, line=splitter.line) from error
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path, line=splitter.line) from error
    splitter.check_end()


class _Splitter:
    """Finds the items of an array in pieces of its text. Commas and brackets within strings and items do not count.

    Attributes:
        line: the line that the next item begins in or after.
        wanted: how many characters the next piece should have. It doubles while an item does not end, so that the time
            for a long string grows with its length.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        self.wanted = _CHUNK
        self._text = ""
        self._scanned = 0
        self._begin = 0
        self._depth = 0
        self._items = 0
        self._ended = False

    def split(self, chunk: str) -> Iterator[Line]:
        """Yield the items that end in this piece. Raises DataError."""
        before = self._items
        self._text += chunk
        for token in () if self._ended else _TOKEN.finditer(self._text, self._scanned):
            mark = token.group()
            if mark == '"':
                self._scanned = token.start()
                break
            self._scanned = token.end()
            if mark in "[{":
                self._depth += 1
                if self._depth == 1:
                    self._move_to(token.end())
            elif mark in "]}":
                self._depth -= 1
                if self._depth == 0:
                    if mark == "}":
                        raise DataError("the array must end with ']', not '}'", path=self.path, line=self.line)
                    yield from self._end_array(token.start())
            elif mark == "," and self._depth == 1:
                yield self._take_item(token.start())
            if self._ended:
                break
        else:
            self._scanned = len(self._text)
        self._check_rest()
        self._text = self._text[self._begin :]
        self._scanned -= self._begin
        self._begin = 0
        self.wanted = _CHUNK if self._items > before else self.wanted * 2
        if len(self._text) > _LONGEST_ITEM:
            raise DataError(
                f"item {self._items + 1} does not end: is a quotation mark or bracket missing?", path=self.path
            )

    def check_end(self) -> None:
        """Raise DataError where the array has not ended."""
        if not self._ended:
            raise DataError("the array does not end: ']' is missing", path=self.path, line=self.line)

    def _take_item(self, end: int) -> Line:
        text = self._text[self._begin : end]
        blank = len(text) - len(text.lstrip())
        self._items += 1
        item = Line(self.path, self.line + text.count("\n", 0, blank), text.strip(), self._items)
        self._move_to(end + 1)
        return item

    def _end_array(self, end: int) -> Iterator[Line]:
        if self._items or self._text[self._begin : end].strip():  # an array may be empty
            yield self._take_item(end)
        else:
            self._move_to(end + 1)
        self._ended = True

    def _move_to(self, position: int) -> None:
        self.line += self._text.count("\n", self._begin, position)
        self._begin = position

    def _check_rest(self) -> None:
        if self._ended:
            rest = self._text[self._begin :]
            if rest.strip():
                raise DataError("there is more after the end of the array", path=self.path, line=self.line)
            self._move_to(len(self._text))
            self._scanned = self._begin
