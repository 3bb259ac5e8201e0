"""Rows of JSONL files and JSON arrays, and the fields of JSON objects."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import cast

import ijson

from convrag import DataError
from convrag.sdk.data.jsonl import UNREADABLE, check_is_file, open_unpacked, read_lines
from convrag_datasets.files.row import Row

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8
_FIRST_BLOCK = 1024
"""Bytes that tell whether a file is an array."""

_ESCAPE = rb"\\(?:[^u]|u[^dD]...|u[dD](?:[0-7]..|[89abAB]..\\u[dD][c-fC-F]..))"
_WHOLE_ESCAPES = re.compile(_ESCAPE + b"(?:" + _ESCAPE + b")*", re.DOTALL)
"""Escapes, whole surrogate pairs among them; not halves of pairs."""

_PAIR_LENGTH = len(rb"\ud83d\ude00")
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
"""All bytes but brackets and quotation marks."""

_DEPTH_CHANGES = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_DEEPEST = 100


def read_json_rows(path: Path) -> Iterator[Row]:
    """Stream the JSON objects of a file, one a line or the items of one array. Raises DataError."""
    with _open_json(path) as file:
        is_array = file.peek(_FIRST_BLOCK).lstrip()[:1] == b"["
        if is_array:
            items = ijson.items(_CheckedJson(file, path), "item", use_float=True)
            for number, value in enumerate(items):
                yield Row(value, path, place=f"[{number}]")
            return
    for line in read_lines(path):
        yield Row(line.json(), path, line.number)


def read_json_fields(path: Path, name: str) -> Iterator[tuple[str, Row]]:
    """Stream the fields of the object in a field of a file: {name: {field: value}}.

    Args:
        path: the file.
        name: of the field of the file.

    Raises:
        DataError: the file cannot be read, or has no such object.
    """
    is_empty = True
    with _open_json(path) as file:
        for key, value in ijson.kvitems(_CheckedJson(file, path), name, use_float=True):
            is_empty = False
            yield key, Row(value, path, place=f"{name}.{key}")
    if is_empty:
        raise DataError(f"this file must hold an object in {name!r}", path=path)


class _CheckedJson:
    """The blocks of a JSON file, with two checks that ijson lacks.

    For each level of nesting, ijson keeps the names of all levels above: 100,000 levels are 25 GB.
    It reads half of a surrogate pair as "?".
    """

    def __init__(self, file: io.BufferedReader, path: Path) -> None:
        self._file = file
        self._path = path
        self._depth = 0
        self._is_in_text = False
        self._rest = b""
        """The beginning of an escape that the end of the last block cut."""

    def read(self, size: int) -> bytes:
        """Read a block.

        Raises:
            DataError: a text has half of a surrogate pair, or lists and objects nest too deep.
        """
        block = self._file.read(size)
        self._check_depth(self._check_escapes(block))
        return block

    def _check_escapes(self, block: bytes) -> bytes:
        """Check the surrogate pairs of a block, and return it without escapes."""
        text = _WHOLE_ESCAPES.sub(b"", self._rest + block)
        place = text.find(b"\\")
        end = len(text) if place < 0 else place
        is_last_block = not block
        longest_rest = _PAIR_LENGTH // 2 if is_last_block else _PAIR_LENGTH
        if len(text) - end >= longest_rest:
            raise DataError("half of a surrogate pair is no character", path=self._path)
        self._rest = text[end:]
        return text[:end]

    def _check_depth(self, text: bytes) -> None:
        """Check how deep lists and objects nest.

        Args:
            text: a block without escapes, so that each quotation mark begins or ends a text.
        """
        parts = text.translate(None, _NO_BRACKETS).split(b'"')
        first_outside = 1 if self._is_in_text else 0
        brackets = b"".join(parts[first_outside::2]).replace(b"{}", b"").replace(b"[]", b"")
        changes = [_DEPTH_CHANGES[bracket] for bracket in brackets]
        depths = list(accumulate(changes, initial=self._depth))
        if max(depths) > _DEEPEST:
            raise DataError(
                f"lists and objects are nested more than {_DEEPEST} deep", path=self._path
            )
        self._depth = depths[-1]
        quotation_marks = len(parts) - 1
        if quotation_marks % 2:
            self._is_in_text = not self._is_in_text


@contextmanager
def _open_json(path: Path) -> Iterator[io.BufferedReader]:
    """Open a JSON file after its byte order mark; errors of reading it become DataErrors."""
    check_is_file(path)
    try:
        with open_unpacked(path) as raw:
            file = cast(io.BufferedReader, raw)
            if file.peek(_FIRST_BLOCK).startswith(_BYTE_ORDER_MARK):
                file.read(len(_BYTE_ORDER_MARK))
            yield file
    except ijson.JSONError as error:
        raise DataError(f"this is not JSON: {_describe(error)}", path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"this is not UTF-8, or half of a surrogate pair ({error.reason})", path=path
        ) from error
    except UNREADABLE as error:
        raise DataError(f"this file cannot be read: {error}", path=path) from error


def _describe(error: ijson.JSONError) -> str:
    """Say what is wrong, and quote the characters around it."""
    given = error.args[0] if error.args else ""
    message = given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
    problem, *others = message.splitlines() or [""]
    quoted = others[0].strip() if others else ""
    near = f", near {quoted}" if quoted else ""
    return f"{problem.rstrip('.')}{near}"
