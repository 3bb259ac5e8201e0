"""The application: it puts the parts of the server together, with their routes and pages."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from convrag import Conversations, TurnRecord, __version__
from convrag.sdk.tasks.options import plugins
from convrag_web.server import (
    conversations_api,
    health_api,
    openai_api,
    original_file,
    source_page,
)
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.errors import install_error_handlers
from convrag_web.server.guard import Access, Guard
from convrag_web.server.options import ServerOptions
from convrag_web.server.page_files import add_page
from convrag_web.server.served_models import ServedModels
from convrag_web.server.server_metrics import ServerMetrics
from convrag_web.server.server_parts import ServerParts
from convrag_web.server.shared_turns import SharedTurns
from convrag_web.server.source_links import SourceLinks
from convrag_web.server.turn_runner import TurnRunner

DESCRIPTION = (
    "Conversations over passages, with citations. /v1 is OpenAI's protocol, of which responses "
    "alone are kept; /api keeps conversations. Every error is OpenAI's object."
)


def make_app(
    models: ServedModels, conversations: Conversations, options: ServerOptions, access: Access
) -> ASGIApp:
    """Make the application that serves these models and stores their conversations.

    Args:
        models: the models by name.
        conversations: stores the conversations.
        options: the parameters of task=serve.
        access: the conditions for requests.
    """
    parts = _make_parts(models, conversations, options, access)
    plugin_apps = _make_plugin_apps(parts)
    app = FastAPI(
        title="convrag",
        version=__version__,
        description=DESCRIPTION,
        lifespan=_join_lifespans(plugin_apps),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.parts = parts
    for module in (conversations_api, openai_api, source_page, original_file, health_api):
        app.include_router(module.router)
    for plugin_app in plugin_apps:
        app.router.routes.extend(plugin_app.routes)
    add_page(app)
    install_error_handlers(app)
    guarded = Guard(app, access, options.max_body)
    if not access.origins:
        return guarded
    return CORSMiddleware(
        guarded,
        allow_origins=list(access.origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type"],
    )


def _make_parts(
    models: ServedModels, conversations: Conversations, options: ServerOptions, access: Access
) -> ServerParts:
    metrics = ServerMetrics()
    runner = TurnRunner(
        workers=options.workers,
        queue=options.queue,
        queue_seconds=options.queue_timeout,
        seconds=options.timeout,
        metrics=metrics,
    )
    return ServerParts(
        options=options,
        models=models,
        conversations=conversations,
        turns=ConversationTurns(conversations, models, runner),
        shared_turns=SharedTurns(),
        runner=runner,
        metrics=metrics,
        links=SourceLinks(access.token, options.public_url),
    )


def _make_plugin_apps(parts: ServerParts) -> list[Starlette]:
    """Make the applications that plugins serve next to ours."""

    async def take_turn(name: str, work: Callable[[], TurnRecord]) -> TurnRecord:
        turn = await parts.runner.start(lambda _: work(), lambda: name)
        try:
            return await turn.finish()
        finally:
            turn.cancel()

    pipelines = {name: model.pipeline for name, model in parts.models.items()}
    hook = plugins.load().manager.hook.convrag_serve_beside
    applications = hook(
        pipelines=pipelines,
        domain=parts.options.domain,
        take_turn=take_turn,
        max_characters=parts.options.max_characters,
    )
    return list(applications)


def _join_lifespans(apps: list[Starlette]) -> Callable[[FastAPI], object]:
    """Make the lifespan of an application that begins and ends others with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    return lifespan
