"""Server-sent events, in which servers stream their replies (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Event(NamedTuple):
    """An event: its type ("message" unless it says otherwise) and its data, the lines of which are joined."""

    type: str
    data: bytes


def read_events(pieces: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a stream that arrives in pieces of any size; at its end, also one that nothing ends."""
    kind, data = "message", list[bytes]()
    for line in _read_lines(pieces):
        if not line:
            if data:
                yield Event(kind, b"\n".join(data))
            kind, data = "message", []
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode(errors="replace")
    if data:
        yield Event(kind, b"\n".join(data))


def _read_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends, which are LF, CR or CRLF; a CR at the end of a piece waits for its LF."""
    started: list[bytes] = []
    for piece in pieces:
        if b"\n" not in piece and b"\r" not in piece and not (started and started[-1].endswith(b"\r")):
            started.append(piece)  # joined once, when the line ends: it may be long
            continue
        lines = b"".join([*started, piece]).splitlines(keepends=True)
        started = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        yield from (line.rstrip(b"\r\n") for line in lines)
    if started:
        yield b"".join(started).rstrip(b"\r")
