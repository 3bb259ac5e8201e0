"""The routes /healthz and /metrics, for those who operate the server."""

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from convrag_web.server.errors import ERRORS
from convrag_web.server.json_reply import JsonReply
from convrag_web.server.server_parts import Parts

router = APIRouter(responses=ERRORS, tags=["Server"])


@router.get("/healthz")
async def show_health() -> Response:
    """Say that the server answers. Needs no token."""
    return JsonReply({"status": "ok"})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def show_metrics(parts: Parts) -> Response:
    """Show counts of turns, seconds, tokens and costs in Prometheus' text format."""
    text = generate_latest(parts.metrics.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
