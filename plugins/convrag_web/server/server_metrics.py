"""What the server counts for Prometheus, and a line of the log for each turn; /healthz and
/metrics.

Labels: models, stages, outcomes.
"""

import logging
from functools import partial
from typing import Literal

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from convrag import TurnRecord
from convrag_web.server.errors import ERRORS, JsonReply

log = logging.getLogger("convrag.serve")

Outcome = Literal["answered", "failed", "stopped", "cancelled", "timeout", "error", "refused"]
"""How a turn ended: with an answer, a failed stage, at a cost limit, by its client, too late, by a
mistake of ours.

One is refused where too many wait, where there is no such conversation, or where it has another
configuration.
"""

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class ServerMetrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.turns = Counter(
            "convrag_turns", "Turns that have ended.", ["model", "outcome"], registry=registry
        )
        histogram = partial(Histogram, registry=registry, buckets=_SECONDS)
        self.seconds = histogram(
            "convrag_turn_seconds", "Seconds of a turn, without waiting.", ["model"]
        )
        self.stage_seconds = histogram(
            "convrag_stage_seconds", "Seconds of a stage of a turn.", ["stage"]
        )
        self.tokens = Counter(
            "convrag_tokens", "Tokens of language models.", ["model", "kind"], registry=registry
        )
        self.cost = Counter(
            "convrag_cost_usd", "Dollars spent on language models.", ["model"], registry=registry
        )
        self.waiting = Gauge(
            "convrag_turns_waiting", "Turns that wait for others to end.", registry=registry
        )
        self.in_progress = Gauge(
            "convrag_turns_in_progress", "Turns in progress.", registry=registry
        )

    def count_turn(
        self, model: str | None, outcome: Outcome, seconds: float, record: TurnRecord | None
    ) -> None:
        """Count a turn that has ended, and log it, without any text of it.

        Args:
            model: name of the model; None for a reply that is no turn, and counts for none.
            outcome: how it ended.
            seconds: that it took.
            record: its record, if it has one.
        """
        if model is None:
            return
        self.turns.labels(model, outcome).inc()
        if outcome == "refused":
            return
        self.seconds.labels(model).observe(seconds)
        if record is None:
            log.info("turn: model %s, %s, %.2f s", model, outcome, seconds)
            return
        for stage, spent in record.timings.items():
            self.stage_seconds.labels(stage).observe(spent)
        usage = record.usage.values()
        prompt, completion = (
            sum(each.prompt_tokens for each in usage),
            sum(each.completion_tokens for each in usage),
        )
        self.tokens.labels(model, "prompt").inc(prompt)
        self.tokens.labels(model, "completion").inc(completion)
        self.cost.labels(model).inc(sum(each.spent_usd for each in usage))
        told = (model, record.number, outcome, seconds, prompt, completion)
        log.info("turn: model %s, number %d, %s, %.2f s, %d + %d tokens", *told)


def make_router(metrics: ServerMetrics) -> APIRouter:
    """Make the routes."""
    router = APIRouter(responses=ERRORS, tags=["Server"])

    @router.get("/healthz")
    async def show_health() -> Response:
        """Say that the server answers. Needs no token."""
        return JsonReply({"status": "ok"})

    @router.get(
        "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}
    )
    async def show_metrics() -> Response:
        """Show counts of turns, seconds, tokens and costs in Prometheus' text format."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return router
