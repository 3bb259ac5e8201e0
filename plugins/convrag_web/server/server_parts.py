"""The parts of the server that the routes use; FastAPI passes them to the functions of routes."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from convrag import Conversations
from convrag_web.server.conversation_turns import ConversationTurns
from convrag_web.server.options import ServerOptions
from convrag_web.server.served_models import ServedModels
from convrag_web.server.server_metrics import ServerMetrics
from convrag_web.server.shared_turns import SharedTurns
from convrag_web.server.source_links import SourceLinks
from convrag_web.server.turn_runner import TurnRunner


@dataclass(frozen=True)
class ServerParts:
    """The parts of one server.

    Args:
        options: the parameters of task=serve.
        models: the models by name.
        conversations: stores the conversations.
        turns: takes the turns of stored conversations.
        shared_turns: the turns in progress that clients of the page may follow.
        runner: runs all turns.
        metrics: counts the turns.
        links: makes the addresses of sources.
    """

    options: ServerOptions
    models: ServedModels
    conversations: Conversations
    turns: ConversationTurns
    shared_turns: SharedTurns
    runner: TurnRunner
    metrics: ServerMetrics
    links: SourceLinks


async def get_parts(request: Request) -> ServerParts:
    """Return the parts of the server that got a request."""
    parts: ServerParts = request.app.state.parts
    return parts


Parts = Annotated[ServerParts, Depends(get_parts)]
"""The annotation of a route's parameter that gets the parts."""
