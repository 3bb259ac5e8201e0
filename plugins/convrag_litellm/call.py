"""One prompt on its way: its tries, what they cost, and who listens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag import Message
from convrag.store.streaming import current_listener
from convrag_litellm import _litellm, reply
from convrag_litellm.deadline import deadline
from convrag_litellm.prices import Prices
from convrag_litellm.purse import Purse
from convrag_litellm.reply import EmptyReply, Reply
from convrag_litellm.retrying import status_of, with_retries
from convrag_litellm.server import Server
from convrag_litellm.throttle import Throttle


@dataclass(frozen=True)
class Limits:
    """What a stage's calls share; see LiteLLM for the parameters."""

    timeout: float
    retries: int
    retry_seconds: float
    throttle: Throttle
    purse: Purse
    prices: Prices


class Call:
    """One prompt.

    `tries` counts its requests, `wasted` is what those cost that came to nothing (US dollars), and `heard` says whether
    a part of the reply was shown: then it is not asked again, or two replies would run into each other.
    """

    def __init__(self, body: Mapping[str, Any], messages: Sequence[Message], server: Server, limits: Limits) -> None:
        self.body = body
        self.messages = messages
        self.server = server
        self.limits = limits
        self.tries = 0
        self.wasted = 0.0
        self.heard = False
        self._listener = current_listener()

    def ask(self) -> Reply:
        """Raises whatever the last try raised."""
        limits = self.limits
        return with_retries(
            self._try, retries=limits.retries, budget=limits.retry_seconds, may_repeat=lambda: not self.heard
        )

    def _try(self) -> Reply:
        limits = self.limits
        with limits.purse.bill(self._most()) as bill, limits.throttle.place(), deadline(limits.timeout):
            self.tries += 1
            try:
                answer = self._send()
            except EmptyReply as error:
                bill.settle(error.cost)
                self.wasted += error.cost or 0.0
                raise
            except Exception as error:
                if status_of(error) == 408:  # it may have written all the while
                    bill.settle(None)
                raise
            bill.settle(answer.cost)
            return answer

    def _send(self) -> Reply:
        server = self.server
        sent = {"api_base": server.address(), "api_key": server.key(), "timeout": self.limits.timeout}
        if self._listener is None:
            return reply.whole(_litellm.complete({**self.body, **sent}), server.model)
        with _litellm.stream({**self.body, **sent}) as chunks:
            return reply.pieces(chunks, server.model, self._hear)

    def _hear(self, piece: str) -> None:
        assert self._listener is not None
        self.heard = True
        self._listener(piece)

    def _most(self) -> float:
        if self.limits.purse.limit is None:
            return 0.0
        return self.limits.prices.most(self.messages, self.body.get("max_tokens"))
