"""Who may ask: the Host and the Origin of a request, and its token.

A server on this machine is reached by every page that a browser here shows, so two checks are made without a token too:
the Host must be a name of this server (else a page could give its own name this address: DNS rebinding), and where a
browser says which page asks (Origin), that must be a page of this server or of an address that task.cors names.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from convrag_web.server.errors import RequestError

OPEN_PATHS = frozenset({"/", "/healthz", "/favicon.ico"})
"""Paths that need no token; those below /static/ need none either."""


class AccessCheck:
    """Lets requests through to an application, or answers them with an error.

    Args:
        app: the application.
        token: that a request must have; empty where none is needed.
        hosts: names of this server, without a port; None for any.
        origins: other pages that may ask, as "https://chat.example.org"; "*" for all.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str] | None, origins: Iterable[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and (error := self._find_problem(scope)):
            await error.to_reply()(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _find_problem(self, scope: Scope) -> RequestError | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and _split_host(host) not in self._hosts:
            message = "the Host header is no name of this server; task.hosts=[...] says which are"
            return RequestError(421, message, code="unknown_host")
        origin = headers.get("origin")
        if origin is not None and not self._origins & {origin, "*"} and not _is_same(origin, host):
            message = "a page of another address asks; task.cors=[...] says which may"
            return RequestError(403, message, type="permission_error", code="foreign_origin")
        path = scope["path"]
        if self._token and path not in OPEN_PATHS and not path.startswith("/static/"):
            given = headers.get("authorization", "").encode("latin-1")
            scheme, _, token = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
                message = "the header Authorization: Bearer ... must hold the server's token (CONVRAG_TOKEN)"
                challenge = {"WWW-Authenticate": "Bearer"}
                return RequestError(
                    401, message, type="authentication_error", code="invalid_api_key", headers=challenge
                )
        return None


def _split_host(host: str) -> str:
    """The name in a Host header, without the port; empty where it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_same(origin: str, host: str) -> bool:
    """Whether an Origin is the server's own. Behind a proxy its scheme is another: the Host is compared."""
    try:
        return bool(host) and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False
