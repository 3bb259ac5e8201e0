"""The application: its routes, its pages, and what stands before them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from jinja2 import Environment
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from convrag import Conversations, __version__
from convrag_web.server import completions, conversations_api
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.errors import install_error_handlers
from convrag_web.server.guard import Access, Guard
from convrag_web.server.served_models import ServedModels
from convrag_web.server.server_metrics import ServerMetrics, make_router
from convrag_web.server.turn_runner import TurnRunner

FOLDERS = ("page", "view", "docs")
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

    async def show_page(request: Request) -> Response:
        return FileResponse(root / "page/index.html", headers={"Cache-Control": "no-cache"})

    async def show_icon(request: Request) -> Response:
        return FileResponse(root / "page/favicon.svg")

    async def show_docs(request: Request) -> Response:
        return HTMLResponse(format_description(app.openapi()))

    for path, show in (("/", show_page), ("/favicon.ico", show_icon), ("/docs", show_docs)):
        app.add_route(path, show)


def format_description(description: Mapping[str, Any]) -> str:
    """An OpenAPI description as HTML."""
    source = Path(__file__).with_name("docs.html.jinja").read_text(encoding="utf-8")
    template = Environment(autoescape=True).from_string(source)
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            row = {**operation, "path": path, "method": method.upper(), "bodies": list(_list_bodies(operation))}
            groups.setdefault(", ".join(operation.get("tags", ["Other"])), []).append(row)
    schemas = description.get("components", {}).get("schemas", {})
    texts = [(name, {**schema, "text": json.dumps(schema, indent=2)}) for name, schema in sorted(schemas.items())]
    return template.render(info=description["info"], groups=groups.items(), schemas=texts)


def _list_bodies(operation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is sent and what comes back, each with its type and its schema."""
    bodies = {"Request": operation.get("requestBody", {})} | {
        f"Reply {status}": reply for status, reply in operation["responses"].items()
    }
    for title, body in bodies.items():
        for kind, content in body.get("content", {}).items():
            yield f"{title}: {kind}", json.dumps(content.get("schema", {}), indent=2)


DESCRIPTION = (
    "Conversations over passages, with citations. /v1 is OpenAI's chat protocol, which keeps nothing; /api keeps "
    "conversations. Every error is OpenAI's object."
)


@dataclass(frozen=True)
class Limits:
    """The limits of a server; `ServeTask` explains them."""

    workers: int = 64
    queue: int = 256
    timeout: float = 300.0
    max_body: int = 1_000_000
    max_messages: int = 2000
    max_characters: int = 100_000


def make_app(models: ServedModels, conversations: Conversations, limits: Limits, access: Access) -> ASGIApp:
    """Make the application that serves these models, and keeps their conversations."""
    metrics = ServerMetrics()
    runner = TurnRunner(workers=limits.workers, queue=limits.queue, seconds=limits.timeout, metrics=metrics)
    app = FastAPI(
        title="convrag",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    turns = ConversationTurns(conversations, models, runner)
    app.include_router(conversations_api.make_router(models, turns, limits.max_characters))
    app.include_router(completions.make_router(models, runner, limits.max_messages, limits.max_characters))
    app.include_router(make_router(metrics))
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
