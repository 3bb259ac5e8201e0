"""What a server sends in OpenAI's protocol: server-sent events, chunks, usage, and errors in several forms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag_llms.errors import HttpError
from convrag_llms.reply import Chunk, TokenCounts

if TYPE_CHECKING:
    from convrag_llms.connections import Response


class Event(NamedTuple):
    """An event: its type ("message" unless it says otherwise) and its lines of data, joined."""

    type: str
    data: bytes


def read_events(pieces: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a stream that arrives in pieces of any size (WHATWG HTML, section 9.2).

    At the stream's end, an event that no empty line ends is one, too.
    """
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


def read_chunks(response: Response) -> Iterator[Chunk]:
    """Yield what the events of a streamed reply hold. Raises HttpError for one that is an error, or no JSON object."""
    for event in read_events(response.read_pieces()):
        if event.data.strip() == b"[DONE]":
            response.drain()
            return
        chunk = parse_object(event.data, response.headers)
        if (event.type == "error" or "choices" not in chunk) and (error := find_error(chunk)):
            raise error
        choices = chunk.get("choices")
        firsts = [each for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []
        found = [(_read_piece(each), each.get("finish_reason")) for each in firsts if not each.get("index")]
        yield Chunk(found, chunk.get("usage"), chunk.get("model"))


def _read_piece(choice: Mapping[str, Any]) -> Any:
    delta = choice.get("delta")
    return delta.get("content") if isinstance(delta, dict) else None


def parse_object(data: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Parse a JSON object. Raises HttpError (502) for anything else."""
    parsed = _parse(data)
    if not isinstance(parsed, dict):
        raise HttpError(502, f"what it sent is no JSON object: {data.decode(errors='replace')}", headers)
    return parsed


def read_usage(usage: Any) -> TokenCounts:
    """Read the tokens that a server has counted, as far as it says."""
    if not isinstance(usage, dict):
        return TokenCounts()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return TokenCounts.read(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def read_error(response: Response) -> HttpError:
    """The error that a response with an error's status is."""
    data = b"".join(response.read_pieces())
    message = _find_message(_parse(data)) or data.decode(errors="replace").strip() or "it says nothing more"
    return HttpError(response.status, message, response.headers)


def find_error(data: Mapping[str, Any]) -> HttpError | None:
    """The error that came in place of a reply, with the status that it names; None where the data are none."""
    if (message := _find_message(data)) is None:
        return None
    error = data.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return HttpError(code if isinstance(code, int) and 400 <= code <= 599 else 502, message)


def _parse(data: bytes) -> Any:
    """Parse JSON; None for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _find_message(data: Any) -> str | None:
    """The message of an error in the protocol's form, or in vLLM's or FastAPI's; None where there is none."""
    if not isinstance(data, dict):
        return None
    error = data.get("error", data.get("message", data.get("detail")))
    if not isinstance(error, dict):
        return None if error is None else str(error)
    code = error.get("code")
    said = str(error.get("message") or error)
    return f"{said} ({code})" if isinstance(code, str) and code and code not in said else said
