"""One prompt's call: its requests, within the stage's limits, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Message
from convrag.sdk.cancelling import Cancelled
from convrag.sdk.streaming import current_listener
from convrag_llms.budget import Budget
from convrag_llms.deadline import deadline
from convrag_llms.prices import ModelPrices
from convrag_llms.rate_limiter import RateLimiter
from convrag_llms.reply import EmptyReply, Reply, may_have_cost
from convrag_llms.retrying import call_with_retries
from convrag_llms.servers import Server, Servers


@dataclass(frozen=True)
class Limits:
    """The limits that all calls of a stage share; see the options for timeout, retries and retry_seconds."""

    timeout: float
    retries: int
    retry_seconds: float
    rate_limiter: RateLimiter
    budget: Budget
    prices: ModelPrices


class Call:
    """The call for one prompt: a request, and its repetitions.

    `tries` counts the requests, `wasted_cost` is what those cost that gave no reply (US dollars). `has_streamed` says
    whether a piece of the reply was passed on to the listener: then the call is not repeated, since the listener would
    hear two replies as one. `server` is the one that was asked last.

    Args:
        body: the request, without address and key.
        messages: the prompt's.
        servers: those that may be asked.
        limits: the stage's.
    """

    def __init__(
        self,
        body: Mapping[str, Any],
        messages: Sequence[Message],
        servers: Servers,
        limits: Limits,
    ) -> None:
        self.body = body
        self.messages = messages
        self.servers = servers
        self.server = servers.first
        self.limits = limits
        self.tries = 0
        self.wasted_cost = 0.0
        self.has_streamed = False
        self._failed: list[Server] = []
        self._listener = current_listener()

    def run(self) -> Reply:
        """Send the request, and repeat it where that may help. Raises whatever the last try raised."""
        self.server.client.load()  # which may take seconds the first time, and they are not the server's
        return call_with_retries(
            self._try,
            retries=self.limits.retries,
            max_wait=self.limits.retry_seconds,
            may_repeat=lambda: not self.has_streamed,
            is_due=lambda: self.servers.has_other(self._failed),
        )

    def _try(self) -> Reply:
        limits = self.limits
        with (
            limits.budget.reserve(self._max_cost()) as reservation,
            limits.rate_limiter.slot(),
            self.servers.choose(self.body, self._failed) as self.server,
            deadline(limits.timeout),
        ):
            self.tries += 1
            try:
                reply = self.server.client.ask(self.body, limits.timeout, self._pass_on if self._listener else None)
            except EmptyReply as error:
                reservation.settle(error.cost)
                self.wasted_cost += error.cost or 0.0
                raise
            except (Cancelled, KeyboardInterrupt):  # the model may have written until then
                reservation.settle(None)
                raise
            except Exception as error:
                self._failed.append(self.server)
                if may_have_cost(error):
                    reservation.settle(None)
                raise
            reservation.settle(reply.cost)
            return reply

    def _pass_on(self, piece: str) -> None:
        assert self._listener is not None
        self.has_streamed = True
        self._listener(piece)

    def _max_cost(self) -> float:
        """US dollars; prices need not be known where there is no limit."""
        if self.limits.budget.limit is None:
            return 0.0
        return self.limits.prices.compute_max_cost(self.messages, self.body.get("max_tokens"))
