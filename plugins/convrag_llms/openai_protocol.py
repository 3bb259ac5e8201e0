"""OpenAI's protocol over HTTP: requests, responses in JSON, server-sent events, and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any

from convrag_llms.connections import CONNECTIONS, Response
from convrag_llms.errors import HttpError
from convrag_llms.reply import list_choices


@contextmanager
def open_response(
    method: str, url: str, body: bytes, headers: Mapping[str, str]
) -> Iterator[Response]:
    """Send a request, and give its response, which is closed after the block.

    Raises:
        HttpError: the server answered with an error; or as `Connections.send`.
    """
    with closing(CONNECTIONS.send(method, url, body, headers)) as response:
        if response.status >= 300:
            raise _read_error(response)
        yield response


def read_completion(response: Response) -> dict[str, Any]:
    """Read the JSON object of a whole reply. Raises HttpError for one that is an error."""
    data = parse_object(b"".join(response.read_pieces()), response.headers)
    refuse_error(data)
    return data


def refuse_error(reply: Mapping[str, Any]) -> None:
    """Raise HttpError for a whole reply that is an error, though its status is 200."""
    choices = list_choices(reply)
    if not choices:
        raise_error(reply)
    elif choices[0].get("error") and not choices[0].get("message"):
        raise_error(choices[0])


def read_chunks(response: Response) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a streamed reply.

    Raises:
        HttpError: an event is an error, or not a JSON object.
    """
    for data in read_events(response.read_pieces()):
        if data == b"[DONE]":
            response.drain()
            return
        chunk = parse_object(data, response.headers)
        if "choices" not in chunk:
            raise_error(chunk)
        yield chunk


def read_events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each server-sent event, which servers of this protocol send in one line.

    Args:
        pieces: of the stream, of any size.
    """
    started: list[bytes] = []  # joined once, when the line ends: it may be long
    for piece in chain(pieces, [b"\n"]):
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line = b"".join([*started, end])
            started = []
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").strip()
        started.append(rest)


def parse_object(data: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Parse a JSON object. Raises HttpError (502) for anything else."""
    parsed = _parse(data)
    if not isinstance(parsed, dict):
        text = data.decode(errors="replace")
        raise HttpError(502, f"what it sent is not a JSON object: {text}", headers)
    return parsed


def _parse(data: bytes) -> Any:
    """Parse JSON; None for anything else."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _read_error(response: Response) -> HttpError:
    """Read the error that a response with an error's status is."""
    data = b"".join(response.read_pieces())
    parsed = _parse(data)
    message = _find_message(parsed) or data.decode(errors="replace").strip()
    message = message or "it says nothing more"
    return HttpError(response.status, message, response.headers, find_parameter(parsed))


def raise_error(data: Mapping[str, Any]) -> None:
    """Raise the error that came in place of a reply, with the status that fits it."""
    message = _find_message(data)
    if message is not None:
        raise HttpError(
            _find_status(data.get("error"), message), message, None, find_parameter(data)
        )


_MAY_PASS = re.compile(
    r"rate.?limit|too many requests|overload|time.?out|timed out|unavailable|busy|try again"
    r"|server.?error|internal|bad gateway|upstream|capacity|exhausted|loading",
    re.IGNORECASE,
)
"""Words of errors after which the same request may succeed."""


def _find_status(error: Any, message: str) -> int:
    """Find the status of an error that came with 200: its own, or one that says if it may pass."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and 400 <= code <= 599:
        return code
    kind = error.get("type") if isinstance(error, dict) else ""
    return 502 if _MAY_PASS.search(f"{kind} {code} {message}") else 400


def make_http_error(status: int, data: Any) -> HttpError:
    """Make the error of a response's JSON, in the protocol's form or in any other."""
    return HttpError(status, _find_message(data) or str(data), param=find_parameter(data))


def find_parameter(data: Any) -> str:
    """Find the parameter that an error in the protocol's form names as its cause; else empty."""
    error = data.get("error") if isinstance(data, dict) else None
    parameter = error.get("param") if isinstance(error, dict) else None
    return parameter if isinstance(parameter, str) else ""


def _find_message(data: Any) -> str | None:
    """Find the message of an error in the protocol's form, vLLM's or FastAPI's; else None."""
    if not isinstance(data, dict):
        return None
    error = data.get("error", data.get("message", data.get("detail")))
    if error is None:
        return None
    if not isinstance(error, dict):
        return str(error)
    message = str(error.get("message") or error)
    code = error.get("code")
    if isinstance(code, str) and code and code not in message:
        return f"{message} ({code})"
    return message
