"""The application: its routes, the files of its page, and the guard before them: who may ask, how
much and how fast.

A server on this machine is reached by every page that a browser here shows, so two checks are made
without a token too: the Host must be a name of this server (else a page could give its own name
this address: DNS rebinding), and where a browser says which page asks (Origin), that must be a page
of this server or of an address that task.cors names.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from convrag import Conversations, TurnRecord, __version__
from convrag.sdk.tasks.options import plugins
from convrag_web.server import conversations_api, openai_api, source_page
from convrag_web.server.citations import SourceLinks
from convrag_web.server.errors import RequestError, describe_failure, install_error_handlers
from convrag_web.server.served_models import ConversationTurns, ServedModels
from convrag_web.server.server_metrics import ServerMetrics, make_router
from convrag_web.server.task import ServeTask
from convrag_web.server.turn_runner import TurnRunner

OPEN_PATHS = frozenset({"/", "/healthz", "/favicon.ico", "/source"})
"""Paths that need no token; those below /static/ need none either. Addresses of sources are signed.
"""

BODY_SECONDS = 30.0
"""Within which the body of a request must have come."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Args:
        token: that a request must have; empty where none is needed.
        hosts: names of this server, without a port; None for any.
        origins: other pages that may ask, as "https://chat.example.org"; "*" for all.
    """

    token: str = ""
    hosts: Sequence[str] | None = None
    origins: Sequence[str] = ()


class Guard:
    """Lets requests through to an application, or answers them with an error; its work ends when the client leaves.

    Args:
        app: the application.
        access: who may ask.
        max_body: bytes of a request's body.
    """

    def __init__(self, app: ASGIApp, access: Access, max_body: int) -> None:
        self._app = app
        self._token = access.token.encode()
        self._hosts = (
            None if access.hosts is None else frozenset(name.lower() for name in access.hosts)
        )
        self._origins = frozenset(access.origins)
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. What a reply says of caching itself, stays."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check_access(scope)
            body = await self._read_body(scope, receive)
            if body is not None:
                await _run_for_client(self._app, scope, body, receive, send_with_headers)
        except asyncio.CancelledError:
            if not started:
                error = RequestError(503, "the server ends", code="stopping")
                await error.to_reply()(scope, receive, send_with_headers)
        except Exception as error:  # not of the application alone, which answers its own errors
            if not started:
                await describe_failure(error).to_reply()(scope, receive, send_with_headers)

    def _check_access(self, scope: Scope) -> None:
        """Raise RequestError for a request that may not be made."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and _split_host(host) not in self._hosts:
            message = "the Host header is no name of this server; task.hosts=[...] says which are"
            raise RequestError(421, message, code="unknown_host")
        origin = headers.get("origin")
        is_own = (
            origin is not None and host and origin.partition("//")[2].lower() == host.lower()
        )  # proxies: no scheme
        if origin is not None and not is_own and not self._origins & {origin, "*"}:
            message = "a page of another address asks; task.cors=[...] says which may"
            raise RequestError(403, message, type="permission_error", code="foreign_origin")
        path = scope["path"]
        if self._token and path not in OPEN_PATHS and not path.startswith("/static/"):
            given = headers.get("authorization", "").encode("latin-1")
            scheme, _, token = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
                message = "the header Authorization: Bearer ... must hold the server's token (CONVRAG_TOKEN)"
                challenge = {"WWW-Authenticate": "Bearer"}
                raise RequestError(
                    401,
                    message,
                    type="authentication_error",
                    code="invalid_api_key",
                    headers=challenge,
                )

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None where the client has left. Raises RequestError."""
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self._max_body:
                        text = f"the body of the request has more than {self._max_body} bytes (task.max_body)"
                        raise RequestError(
                            413, text, code="body_too_large", headers={"Connection": "close"}
                        )
        except TimeoutError:
            text = "the body of the request came too slowly"
            raise RequestError(
                408, text, code="slow_request", headers={"Connection": "close"}
            ) from None
        if body and scope["method"] == "POST":
            kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                text = "the Content-Type of a request must be application/json"
                raise RequestError(415, text, code="unsupported_media_type")
        return bytes(body)


async def _run_for_client(
    app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send
) -> None:
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


def _split_host(host: str) -> str:
    """The name in a Host header, without the port; empty where it cannot be read."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


FOLDERS = ("page", "view")
"""Folders of convrag_web whose files are served below /static/."""


class PageFiles(StaticFiles):
    """Static files that a browser asks for again, and is told where they are unchanged."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        """Send a file, or say that the browser has it, which knows that by its tag."""
        reply = super().file_response(*args, **options)
        reply.headers["Cache-Control"] = "no-cache"
        return reply


def add_pages(app: FastAPI) -> None:
    """Add the files and pages to an application."""
    root = Path(__file__).parents[1]
    for folder in FOLDERS:
        app.mount(f"/static/{folder}", PageFiles(directory=root / folder))

    app.add_route(
        "/", lambda _: FileResponse(root / "page/index.html", headers={"Cache-Control": "no-cache"})
    )
    app.add_route("/favicon.ico", lambda _: FileResponse(root / "page/favicon.svg"))


DESCRIPTION = (
    "Conversations over passages, with citations. /v1 is OpenAI's protocol, of which responses alone are kept; /api "
    "keeps conversations. Every error is OpenAI's object."
)


def make_app(
    models: ServedModels, kept: Conversations, limits: ServeTask, access: Access
) -> ASGIApp:
    """Make the application that serves these models, and keeps their conversations.

    Args:
        models: by name.
        kept: the conversations.
        limits: of the server, and the domain of questions that name none.
        access: who may ask.
    """
    metrics = ServerMetrics()
    runner = TurnRunner(
        workers=limits.workers, queue=limits.queue, seconds=limits.timeout, metrics=metrics
    )
    without: dict[str, Any] = {"docs_url": None, "redoc_url": None, "redirect_slashes": False}
    beside = _make_apps_beside(models, limits.domain, runner)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in beside:
                await stack.enter_async_context(each.router.lifespan_context(each))
            yield

    app = FastAPI(
        title="convrag", version=__version__, description=DESCRIPTION, lifespan=lifespan, **without
    )
    turns = ConversationTurns(kept, models, runner)
    app.include_router(conversations_api.make_router(models, turns, limits.max_characters))
    links = SourceLinks(access.token, limits.public_url)
    app.include_router(openai_api.make_router(models, turns, runner, limits, links))
    app.include_router(source_page.make_router(models, links))
    app.include_router(make_router(metrics))
    app.router.routes.extend(route for each in beside for route in each.routes)
    add_pages(app)
    install_error_handlers(app)
    guarded = Guard(app, access, limits.max_body)
    if not access.origins:
        return guarded
    return CORSMiddleware(
        guarded,
        allow_origins=list(access.origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type"],
    )


def _make_apps_beside(
    models: ServedModels, domain: str | None, runner: TurnRunner
) -> list[Starlette]:
    """What plugins serve beside ours."""

    async def take_turn(name: str, work: Callable[[], TurnRecord]) -> TurnRecord:
        turn = await runner.start(lambda _: work(), lambda: name)
        try:
            return await turn.finish()
        finally:
            turn.cancel()

    pipelines = {name: model.pipeline for name, model in models.items()}
    serve_beside = plugins.load().manager.hook.convrag_serve_beside
    return list(serve_beside(pipelines=pipelines, domain=domain, take_turn=take_turn))
