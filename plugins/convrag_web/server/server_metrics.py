"""Counts for Prometheus, by model, stage and outcome, and a line of the log for each turn."""

import logging
from functools import partial
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from convrag import TurnRecord

log = logging.getLogger("convrag.serve")

Outcome = Literal["answered", "failed", "stopped", "cancelled", "timeout", "error", "refused"]
"""The ways in which a turn ends.

answered, failed (a stage failed), stopped (at a cost limit), cancelled (by its client), timeout,
error (a mistake of ours), refused (too many wait, or there is no such conversation, or it has
another configuration).
"""

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class ServerMetrics:
    """The counters of one server. `TurnRunner` sets the gauges."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self.registry = registry
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
        self.lost_threads = Gauge(
            "convrag_lost_threads", "Turns that hang after their timeout.", registry=registry
        )

    def count_turn(
        self, model: str | None, outcome: Outcome, seconds: float, record: TurnRecord | None
    ) -> None:
        """Count a turn that has ended, and log it without any of its texts.

        Args:
            model: the name of the model; None for a reply that does not count as a turn.
            outcome: how the turn ended.
            seconds: the time that it took.
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
        prompt = sum(each.prompt_tokens for each in usage)
        completion = sum(each.completion_tokens for each in usage)
        self.tokens.labels(model, "prompt").inc(prompt)
        self.tokens.labels(model, "completion").inc(completion)
        self.cost.labels(model).inc(sum(each.spent_usd for each in usage))
        log.info(
            "turn: model %s, number %d, %s, %.2f s, %d + %d tokens",
            model,
            record.number,
            outcome,
            seconds,
            prompt,
            completion,
        )
