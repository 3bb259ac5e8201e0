"""The application: its routes, the files of its page, and what stands before them."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from convrag import Conversations, __version__
from convrag_web.server import completions, conversations_api
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.errors import install_error_handlers
from convrag_web.server.guard import Access, Guard
from convrag_web.server.served_models import ServedModels
from convrag_web.server.server_metrics import ServerMetrics, make_router
from convrag_web.server.task import Limits
from convrag_web.server.turn_runner import TurnRunner

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

    async def show_page(request: Request) -> Response:
        return FileResponse(root / "page/index.html", headers={"Cache-Control": "no-cache"})

    async def show_icon(request: Request) -> Response:
        return FileResponse(root / "page/favicon.svg")

    app.add_route("/", show_page)
    app.add_route("/favicon.ico", show_icon)


DESCRIPTION = (
    "Conversations over passages, with citations. /v1 is OpenAI's chat protocol, which keeps nothing; /api keeps "
    "conversations. Every error is OpenAI's object."
)


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
