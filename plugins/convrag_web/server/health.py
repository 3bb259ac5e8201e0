"""/healthz and /metrics."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from convrag_web.server.errors import ERRORS
from convrag_web.server.json_reply import JsonReply
from convrag_web.server.server_metrics import CONTENT_TYPE, ServerMetrics


class Health(BaseModel):
    """The server answers."""

    status: Literal["ok"]


def make_router(metrics: ServerMetrics) -> APIRouter:
    """Make the routes."""
    router = APIRouter(responses=ERRORS, tags=["Server"])

    @router.get("/healthz", response_model=Health)
    async def show_health() -> Response:
        """Say that the server answers. Needs no token."""
        return JsonReply({"status": "ok"})

    @router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def show_metrics() -> Response:
        """Show counts of turns, seconds, tokens and costs in Prometheus' text format."""
        return Response(metrics.format(), media_type=CONTENT_TYPE)

    return router
