"""The passages of a report: each stands there once, in the order of first use."""

import gzip
from array import array
from base64 import b64encode
from collections.abc import Container, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from convrag.sdk.strict_json import format_json

CHUNK = 250
"""Records, or passages, that are packed together: a turn opens at once, and repeated words still cost little."""

_LEVEL = 5


def format_row(value: Any) -> bytes:
    """Format a value as JSON in UTF-8. Half a surrogate pair is written as JSON does it."""
    return format_json(value).encode("utf-8", "backslashreplace")


def pack_rows(rows: Iterable[bytes]) -> str:
    """Pack formatted values as a list: base64 of gzip."""
    return pack_bytes(b"[" + b",".join(rows) + b"]")


def pack_bytes(text: bytes) -> str:
    """Pack bytes: base64 of gzip. Equal bytes give equal texts."""
    return b64encode(gzip.compress(text, _LEVEL, mtime=0)).decode("ascii")


_FIELDS = ("id", "title", "text", "url", "metadata")


class PassagePool:
    """Numbers passages from 0, and packs their texts in chunks.

    Args:
        most: stop packing when the chunks are longer than this, in characters: they will not be used.
        kept: the numbers of the passages whose texts are packed; None for all.
    """

    def __init__(self, most: int, kept: Container[int] | None = None) -> None:
        self.sizes = array("I")
        """The bytes of each passage before packing."""
        self.packed = 0
        """The characters of all chunks so far."""
        self.unpacked = 0
        """What they were before packing, in bytes."""
        self._most = most
        self._kept = kept
        self._numbers: dict[bytes, int] = {}
        self._chunks: list[str] = []
        self._waiting: list[bytes] = []

    def add(self, passage: Mapping[str, Any]) -> int:
        """Add a passage (id, title, text, url, metadata), unless it is there. Returns its number."""
        row = format_row([passage.get(name) or "" for name in _FIELDS])
        key = blake2b(row, digest_size=16).digest()
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self.sizes):
            self.sizes.append(len(row))
            if self._kept is not None and number not in self._kept:
                row = format_row([passage["id"], passage.get("title", "")])
            self._pack(row)
        return number

    def list_chunks(self) -> list[str]:
        """Return the packed chunks, each of CHUNK passages."""
        if self._waiting:
            self._pack_chunk()
        return self._chunks

    def release(self) -> None:
        """Forget the chunks."""
        self._chunks.clear()

    def _pack(self, row: bytes) -> None:
        self._waiting.append(row)
        if len(self._waiting) == CHUNK:
            self._pack_chunk()

    def _pack_chunk(self) -> None:
        if self.packed <= self._most:
            self._chunks.append(pack_rows(self._waiting))
            self.packed += len(self._chunks[-1])
            self.unpacked += sum(map(len, self._waiting))
        self._waiting.clear()


def split_by_passages(text: str, passages: Iterable[tuple[int, str]]) -> str | list[str | int]:
    """Replace the texts of passages within a text by their numbers.

    split_by_passages("[1] Ice floats. Why?", [(7, "Ice floats.")]) gives ["[1] ", 7, " Why?"]

    Returns:
        The text itself where none of them is in it.
    """
    within = [(number, passage) for number, passage in passages if len(passage) >= _SHORTEST and passage in text]
    parts: list[str | int] = [text]
    for number, passage in within:
        parts = [piece for part in parts for piece in _split_part(part, number, passage)]
    return parts if within else text


_SHORTEST = 40
"""Characters of a text that is worth a reference."""


def _split_part(part: str | int, number: int, passage: str) -> Iterator[str | int]:
    if isinstance(part, int) or passage not in part:
        yield part
        return
    first, *others = part.split(passage)
    if first:
        yield first
    for other in others:
        yield number
        if other:
            yield other
