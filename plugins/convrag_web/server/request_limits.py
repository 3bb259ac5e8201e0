"""The limits of a request: size and time of its body, and that its work ends when the client goes away."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from convrag_web.server.errors import RequestError

BODY_SECONDS = 30.0
"""Within which a body must have come."""


class RequestLimits:
    """Reads the body of a request before the application sees it, and cancels the application if the client leaves.

    Args:
        app: the application.
        max_body: bytes.
    """

    def __init__(self, app: ASGIApp, *, max_body: int) -> None:
        self._app = app
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read_body(scope, receive)
        except RequestError as error:
            await error.to_reply()(scope, receive, send)
            return
        if body is not None:
            await _run_for_client(self._app, scope, body, receive, send)

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None where the client has left. Raises RequestError."""
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self._max_body:
                        text = f"the body of the request has more than {self._max_body} bytes (task.max_body)"
                        raise RequestError(413, text, code="body_too_large", headers={"Connection": "close"})
        except TimeoutError:
            text = "the body of the request came too slowly"
            raise RequestError(408, text, code="slow_request", headers={"Connection": "close"}) from None
        if body and scope["method"] == "POST":
            kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                text = "the Content-Type of a request must be application/json"
                raise RequestError(415, text, code="unsupported_media_type")
        return bytes(body)


async def _run_for_client(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """Run an application until it has answered, or the client has left."""
    given = False
    left = asyncio.Event()
    task = asyncio.current_task()
    assert task is not None

    async def receive_again() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()
        task.cancel()

    watching = asyncio.create_task(watch())
    try:
        await app(scope, receive_again, send)
    except asyncio.CancelledError:
        if not left.is_set():
            raise
        task.uncancel()
    finally:
        watching.cancel()
