"""The application: its routes, and what stands before them."""

from dataclasses import dataclass

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from convrag import Conversations, __version__
from convrag_web.server import completions, conversations_api, pages
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.errors import install_error_handlers
from convrag_web.server.guard import Access, Guard
from convrag_web.server.served_models import ServedModels
from convrag_web.server.server_metrics import ServerMetrics, make_router
from convrag_web.server.turn_runner import TurnRunner

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
    pages.add_pages(app)
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
