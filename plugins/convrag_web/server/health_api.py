"""The routes /healthz and /metrics, for those who operate the server."""

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from convrag_web.server.errors import ERRORS
from convrag_web.server.json_reply import JsonReply
from convrag_web.server.server_parts import Parts
from convrag_web.server.turn_runner import describe_lost

router = APIRouter(responses=ERRORS, tags=["Server"])


@router.get("/healthz")
async def show_health(parts: Parts) -> Response:
    """Say that the server answers; "degraded" if stages hang. Needs no token.

    Its status is 503 if so many hang that the server must be started again.
    """
    lost = parts.runner.lost.count
    if not lost:
        return JsonReply({"status": "ok"})
    if parts.runner.must_restart:
        failing = {"status": "failing", "lost_threads": lost, "message": describe_lost(lost)}
        return JsonReply(failing, status_code=503)
    return JsonReply({"status": "degraded", "lost_threads": lost})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def show_metrics(parts: Parts) -> Response:
    """Show counts of turns, seconds, tokens and costs in Prometheus' text format."""
    text = generate_latest(parts.metrics.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
