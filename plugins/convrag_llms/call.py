"""One prompt's call: its request, within the stage's limits, repeated where that may help, and what it costs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from convrag import Message
from convrag.sdk.cancelling import Cancelled, sleep
from convrag.sdk.streaming import current_listener
from convrag_llms.connections import deadline
from convrag_llms.endpoint import Endpoint
from convrag_llms.errors import (
    ConnectionFailed,
    ConnectionRefused,
    EmptyReply,
    may_have_cost,
    may_pass,
    read_retry_after,
)
from convrag_llms.limits import Limits
from convrag_llms.reply import Reply

FIRST_WAIT = 1.0
"""Seconds before the second request, and the most that jitter adds to a wait; each wait is twice the one before."""

QUICK_WAITS = (0.3, 0.6)
"""Seconds before the first repetitions where there was no connection; where it was refused, there are no others."""

LONGEST_WAIT = 60.0
"""The longest wait in seconds where the server names none: the window of most providers' rate limits."""


class Call:
    """The call for one prompt: a request, and its repetitions.

    `tries` counts the requests, `wasted_cost` is what those cost that gave no reply (US dollars). `has_streamed` says
    whether a piece of the reply was passed on to the listener: then the call is not repeated, since the listener would
    hear two replies as one.

    Args:
        ask: sends one request (see `HttpLLM.ask`).
        endpoint: where the model is.
        body: the request, without address and key.
        messages: the prompt's.
        limits: the stage's.
    """

    def __init__(
        self,
        ask: Callable[[Mapping[str, Any], float, Callable[[str], None] | None], Reply],
        endpoint: Endpoint,
        body: Mapping[str, Any],
        messages: Sequence[Message],
        limits: Limits,
    ) -> None:
        self.ask = ask
        self.endpoint = endpoint
        self.body = body
        self.messages = messages
        self.limits = limits
        self.tries = 0
        self.wasted_cost = 0.0
        self.has_streamed = False
        self._listener = current_listener()

    def run(self) -> Reply:
        """Send the request, and repeat it with exponential backoff and jitter, or when the server says.

        Where the server asks for a longer wait than `retry_seconds`, its error is raised at once: a request before that
        would be in vain. Raises whatever the last try raised, and Cancelled.
        """
        retrying = Retrying(
            stop=stop_after_attempt(self.limits.retries + 1) | self._exceeds_patience,
            wait=_compute_wait,
            retry=retry_if_exception(self._may_repeat),
            sleep=sleep,
            reraise=True,
        )
        reply: Reply = retrying(self._try)
        return reply

    def _exceeds_patience(self, state: RetryCallState) -> bool:
        refused = state.outcome is not None and isinstance(state.outcome.exception(), ConnectionRefused)
        if refused and state.attempt_number > len(QUICK_WAITS):
            return True
        return bool(state.idle_for + state.upcoming_sleep > self.limits.retry_seconds)

    def _may_repeat(self, error: BaseException) -> bool:
        return not self.has_streamed and (isinstance(error, EmptyReply) or may_pass(error))

    def _try(self) -> Reply:
        limits = self.limits
        with (
            limits.budget.reserve(self._max_cost()) as reservation,
            limits.rate_limiter.slot(),
            deadline(limits.timeout),
        ):
            self.tries += 1
            try:
                reply = self.ask(self.body, limits.timeout, self._pass_on if self._listener else None)
            except EmptyReply as error:
                reservation.settle(error.cost)
                self.wasted_cost += error.cost or 0.0
                raise
            except (Cancelled, KeyboardInterrupt):  # the model may have written until then
                reservation.settle(None)
                raise
            except Exception as error:
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


def _compute_wait(state: RetryCallState) -> float:
    """Seconds until the next request; with jitter also after Retry-After, which told all who wait the same time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ConnectionFailed) and state.attempt_number <= len(QUICK_WAITS):
        return QUICK_WAITS[state.attempt_number - 1]
    retry_after = read_retry_after(error)
    wait = wait_exponential(FIRST_WAIT, max=LONGEST_WAIT)(state) if retry_after is None else retry_after
    return float(wait + wait_random(0, FIRST_WAIT)(state))
