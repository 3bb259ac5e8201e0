"""Sends the requests of litellm's HTTP clients through connections.py.

So deadlines, limits and cancellation are kept in one way.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import httpx

from convrag_llms.connections import CONNECTIONS, Response
from convrag_llms.mended_reply import mend_reply

Answer = Callable[[str, bytes, Mapping[str, str]], bytes]
"""URL, body and headers of a request -> the body of its response.

Raises what `Connections.send` raises.
"""

_thread = threading.local()


@contextmanager
def answering(answer: Answer | None) -> Iterator[None]:
    """Answer the requests of this thread by a function, in place of the server; None asks it."""
    _thread.answer = answer
    try:
        yield
    finally:
        _thread.answer = None


class Transport(httpx.BaseTransport):  # type: ignore[misc, unused-ignore]
    """Sends the requests of httpx's clients through our connections."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its response is read while it arrives. Raises as `Connections.send`."""
        url = str(request.url)
        body = request.read()
        headers = dict(request.headers)
        answer: Answer | None = getattr(_thread, "answer", None)
        if answer is not None:
            return httpx.Response(200, content=answer(url, body, headers))
        response = CONNECTIONS.send(request.method, url, body, headers)
        # The body is decompressed already, and may be mended.
        kept = [
            (name, value)
            for name, value in response.headers.items()
            if name.lower() not in ("content-encoding", "content-length")
        ]
        stream = _MendedBody(response) if _is_whole_reply(response) else _Body(response)
        return httpx.Response(response.status, headers=kept, stream=stream)


class _Body(httpx.SyncByteStream):  # type: ignore[misc, unused-ignore]
    """The body of a response, for httpx."""

    def __init__(self, response: Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return self._response.read_pieces()

    def close(self) -> None:
        self._response.close()


class _MendedBody(_Body):
    """The body of a whole reply, as litellm's types take it."""

    def __iter__(self) -> Iterator[bytes]:
        yield mend_reply(b"".join(super().__iter__()))


def _is_whole_reply(response: Response) -> bool:
    """Whether a response is a reply that does not come as events."""
    kind = next(
        (value for name, value in response.headers.items() if name.lower() == "content-type"), ""
    )
    return response.status == 200 and kind.startswith("application/json")


class Client(httpx.Client):  # type: ignore[misc, unused-ignore]
    """A client that stays open."""

    def close(self) -> None:
        """Stay open: litellm closes the client of a provider that it forgets, and all use this."""
