"""The guard before the application: who may ask, how much and how fast.

Every page that a browser shows on this machine can reach a server on it. So two checks are made
even without a token. The Host must be a name of this server; else a page could point its own name
at this address (DNS rebinding). And if the browser says which page asks (Origin), that page must be
the server's own, or come from an address that task.cors names.
"""

import asyncio
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from convrag_web.server.errors import RequestError, describe_failure
from convrag_web.server.reply_headers import HEADERS

OPEN_PATHS = frozenset({"/", "/healthz", "/favicon.ico", "/source", "/original"})
"""Paths that need no token, like those below /static/.

The addresses of sources and of files are signed.
"""

BODY_SECONDS = 30.0
"""The time within which the body of a request must have come."""


@dataclass(frozen=True)
class Access:
    """The conditions under which a request is let through.

    Args:
        token: the token that a request must have; empty where none is needed.
        hosts: names of this server, without a port; None for any.
        origins: other pages that may ask, as "https://chat.example.org"; "*" for all.
    """

    token: str = ""
    hosts: Sequence[str] | None = None
    origins: Sequence[str] = ()


class Guard:
    """Lets requests through to an application, or answers them with an error.

    The application's work on a request ends when the client leaves.

    Args:
        app: the application.
        access: the conditions for requests.
        max_body: the number of bytes that a request's body may have.
    """

    def __init__(self, app: ASGIApp, access: Access, max_body: int) -> None:
        self._app = app
        self._token = access.token.encode()
        self._hosts = None
        if access.hosts is not None:
            self._hosts = frozenset(name.lower() for name in access.hosts)
        self._origins = frozenset(access.origins)
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                own_policy = headers.get("Content-Security-Policy")
                headers.update(HEADERS)
                if own_policy:  # of a file that a page shows
                    headers["Content-Security-Policy"] = own_policy
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check_host(scope)
            self._check_origin(scope)
            self._check_token(scope)
            body = await self._read_body(scope, receive)
            if body is not None:
                await _run_for_client(self._app, scope, body, receive, send_with_headers)
        except asyncio.CancelledError:
            if not started:
                error = RequestError(503, "the server ends", code="stopping")
                await error.to_reply()(scope, receive, send_with_headers)
        except Exception as error:  # mostly ours: the application answers its own errors
            if not started:
                await describe_failure(error).to_reply()(scope, receive, send_with_headers)

    def _check_host(self, scope: Scope) -> None:
        """Raise RequestError if the Host is not a name of this server."""
        host = Headers(scope=scope).get("host", "")
        if self._hosts is not None and _split_host(host) not in self._hosts:
            message = "the Host header is no name of this server; task.hosts=[...] says which are"
            raise RequestError(421, message, code="unknown_host")

    def _check_origin(self, scope: Scope) -> None:
        """Raise RequestError if the page of another address asks that task.cors does not name."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None or self._origins & {origin, "*"}:
            return
        host = headers.get("host", "").lower()
        origin_host = origin.partition("//")[2].lower()  # a proxy may change the scheme
        if not host or origin_host != host:
            message = "a page of another address asks; task.cors=[...] says which may"
            raise RequestError(403, message, type="permission_error", code="foreign_origin")

    def _check_token(self, scope: Scope) -> None:
        """Raise RequestError if the path needs a token, and the request does not have it."""
        path = scope["path"]
        if not self._token or path in OPEN_PATHS or path.startswith("/static/"):
            return
        authorization = Headers(scope=scope).get("authorization", "").encode("latin-1")
        scheme, _, token = authorization.partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token):
            return
        raise RequestError(
            401,
            "the header Authorization: Bearer ... must hold the server's token (CONVRAG_TOKEN)",
            type="authentication_error",
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the whole body; None if the client has left. Raises RequestError."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await self._receive_body(receive)
        except TimeoutError:
            message = "the body of the request came too slowly"
            raise RequestError(
                408, message, code="slow_request", headers={"Connection": "close"}
            ) from None
        if body and scope["method"] == "POST":
            _check_content_type(scope)
        return body

    async def _receive_body(self, receive: Receive) -> bytes | None:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body:
                raise RequestError(
                    413,
                    f"the body of the request has more than {self._max_body} bytes (task.max_body)",
                    code="body_too_large",
                    headers={"Connection": "close"},
                )
        return bytes(body)


def _check_content_type(scope: Scope) -> None:
    content_type = Headers(scope=scope).get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        message = "the Content-Type of a request must be application/json"
        raise RequestError(415, message, code="unsupported_media_type")


async def _run_for_client(
    app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send
) -> None:
    """Run an application until it has answered, or the client has left."""
    body_received = False
    client_left = asyncio.Event()
    task = asyncio.current_task()
    assert task is not None

    async def receive_again() -> Message:
        nonlocal body_received
        if not body_received:
            body_received = True
            return {"type": "http.request", "body": body, "more_body": False}
        await client_left.wait()
        return {"type": "http.disconnect"}

    async def watch_client() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        client_left.set()
        task.cancel()

    watching = asyncio.create_task(watch_client())
    try:
        await app(scope, receive_again, send)
    except asyncio.CancelledError:
        if not client_left.is_set():
            raise
        task.uncancel()
    finally:
        watching.cancel()


def _split_host(host: str) -> str:
    """Return the name in a Host header, without the port; empty if it cannot be read."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
