"""The values of a large JSON file one after another, each with the line that it begins in.

read_values(path, 1)   of [{"a": 1}, {"a": 2}]: ((0,), {"a": 1}, line), ((1,), {"a": 2}, line)
read_values(path, 2)   of {"topics": {"t1": {}}}: (("topics", "t1"), {}, line)
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any, NamedTuple

from convrag import DataError
from convrag.sdk.jsonl import UNREADABLE, check_is_file, open_unpacked
from convrag.sdk.strict_json import make_decoder

Keys = tuple[str | int, ...]
"""How to get to a value: the key in each object, the position (from 0) in each list."""

_BLOCK = 1 << 16
_LONGEST = 1 << 28  # characters of a value; a quotation mark that is missing would have the rest of the file read
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NEAR = 16  # characters: an error so close to the end of what was read may be of a value that is not all there yet


class StreamedValue(NamedTuple):
    """A value of a JSON file, its keys, and the line that it begins in."""

    keys: Keys
    value: Any
    line: int


def read_values(path: Path, depth: int) -> Iterator[StreamedValue]:
    """Yield the values that stand `depth` levels deep, in the order of the file; each is read when it is asked for.

    Args:
        path: a JSON file, UTF-8; a .gz or .zip file is unpacked while it is read.
        depth: 1 for the items of a list or the values of an object, 2 for those of each of them, and so on.

    Raises:
        DataError: the file cannot be read or is no JSON, or what should hold values is no list or object.
    """
    check_is_file(path)
    try:
        with open_unpacked(path) as file:
            reader = _Reader(path, io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
            yield from reader.read_children((), depth)
            reader.expect_end()
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error


def is_json_list(path: Path) -> bool:
    """Whether a file begins as a JSON list; JSONL begins with an object. Raises DataError where it cannot be read."""
    check_is_file(path)
    try:
        with open_unpacked(path) as file:
            blocks = iter(lambda: file.read(_BLOCK).removeprefix(b"\xef\xbb\xbf"), b"")
            return next(filter(bytes.strip, blocks), b"").lstrip().startswith(b"[")
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error


def format_keys(keys: Keys) -> str:
    """Write keys as a path: [3].turn[2].raw_utterance; a key that is no plain name is quoted."""
    parts = []
    for key in keys:
        if isinstance(key, int):
            parts.append(f"[{key}]")
        elif key.isidentifier():
            parts.append(f".{key}")
        else:
            parts.append(f"[{json.dumps(key, ensure_ascii=False)}]")
    return "".join(parts).removeprefix(".")


class _Reader:
    """A JSON file, of which only the value at hand is in memory."""

    def __init__(self, path: Path, file: io.TextIOWrapper) -> None:
        self.path = path
        self._file = file
        self._decoder = make_decoder()
        self._text = ""
        self._position = 0
        self._line = 1
        self._ended = False

    def read_children(self, keys: Keys, depth: int) -> Iterator[StreamedValue]:
        """Yield the values `depth` levels below the value at hand."""
        if depth == 0:
            self._skip_space()
            line = self._line
            yield StreamedValue(keys, self._read_value(), line)
            return
        opening = self._peek()
        if opening not in "[{" or not opening:
            raise self._error(f"{_name(keys)} must be a list or an object")
        self._advance(self._position + 1)
        closing, number = ("]" if opening == "[" else "}"), 0
        while (character := self._peek()) != closing:
            if number:
                if character != ",":
                    raise self._error(f"this is not JSON: there must be ',' or '{closing}' in {_name(keys)}")
                self._advance(self._position + 1)
            key: str | int = number if opening == "[" else self._read_key(keys)
            yield from self.read_children((*keys, key), depth - 1)
            number += 1
        self._advance(self._position + 1)

    def expect_end(self) -> None:
        """Raise DataError where anything follows."""
        if self._peek():
            raise self._error("this is not JSON: there is more behind the end of the list or object")

    def _read_key(self, keys: Keys) -> str:
        if self._peek() != '"':
            raise self._error(f"this is not JSON: {_name(keys)} must have keys in double quotes")
        key = str(self._read_value())
        if self._peek() != ":":
            raise self._error(f"this is not JSON: there must be ':' behind the key {key[:80]!r}")
        self._advance(self._position + 1)
        return key

    def _read_value(self) -> Any:
        """Read the value at hand; more of the file is read until it is all there."""
        self._skip_space()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR
                if len(self._text) - self._position > _LONGEST:
                    raise self._error(f"a value of over {_LONGEST} characters: is a quotation mark missing?") from error
                if not cut or not self._fill():
                    self._advance(min(error.pos, len(self._text)))
                    raise self._error(f"this is not JSON: {error.msg}") from error
            except ValueError as error:
                raise self._error(f"this is not JSON: {error}") from error
            except RecursionError as error:
                raise self._error("this is not JSON: it is nested too deeply") from error
            else:
                is_number = isinstance(value, int | float)  # which may go on where what was read ends
                if not is_number or end + _NEAR <= len(self._text) or not self._fill():
                    break
        self._check_surrogates(value, end)
        self._advance(end)
        return value

    def _check_surrogates(self, value: Any, end: int) -> None:
        if _SURROGATE.search(self._text, self._position, end):
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                raise self._error("half of a surrogate pair is no character") from error

    def _peek(self) -> str:
        """The next character that is no space; empty at the end."""
        self._skip_space()
        return self._text[self._position : self._position + 1]

    def _skip_space(self) -> None:
        while True:
            match = _SPACE.match(self._text, self._position)
            self._advance(match.end() if match else self._position)
            if self._position < len(self._text) or not self._fill():
                return

    def _advance(self, end: int) -> None:
        self._line += self._text.count("\n", self._position, end)
        self._position = end

    def _fill(self) -> bool:
        """Read as much again as is left, so that a long value is not scanned too often; False at the end."""
        if self._ended:
            return False
        try:
            more = self._file.read(max(_BLOCK, len(self._text) - self._position))
        except UnicodeDecodeError as error:
            raise self._error(f"this is not UTF-8 ({error.reason})") from error
        if not more:
            self._ended = True
            return False
        self._text = self._text[self._position :] + more
        self._position = 0
        return True

    def _error(self, message: str) -> DataError:
        return DataError(message, path=self.path, line=self._line)


def _name(keys: Keys) -> str:
    return format_keys(keys) or "the file"
