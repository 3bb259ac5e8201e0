"""One prompt's call: its request within the limits, repeated where that may help."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
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
from convrag.sdk.cancellation import Cancelled, sleep
from convrag.sdk.llm.streaming import current_listener, notify
from convrag_llms.deadlines import deadline
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
from convrag_llms.refused_parameters import RefusedParameters
from convrag_llms.reply import Reply

FIRST_WAIT = 1.0
"""Seconds before the second request; each wait is twice the one before.

It is also the most that jitter adds to a wait.
"""

QUICK_WAITS = (0.3, 0.6)
"""Seconds before the first repetitions where there was no connection.

Where the connection was refused, there are no others.
"""

LONGEST_WAIT = 60.0
"""The longest wait in seconds where the server asks for none.

It is the window of most providers' rate limits.
"""


@dataclass
class Call:
    """The call for one prompt: a request, and its repetitions.

    `tries` counts the requests, and `wasted_cost` is what requests without a reply cost (US
    dollars). `has_streamed` says whether a piece of the reply was passed on to the listener: then
    the call is not repeated, since the listener would hear two replies as one.

    Args:
        ask: sends one request (see `HttpLLM.ask`).
        endpoint: where the model is.
        body: the request, without address and key.
        messages: the prompt's.
        limits: the stage's.
        refused: the parameters that the model refuses.
        stage_max_tokens: the longest reply in tokens, where the stage that asks has set it.
    """

    ask: Callable[[Mapping[str, Any], float, Callable[[str], None] | None], Reply]
    endpoint: Endpoint
    body: Mapping[str, Any]
    messages: Sequence[Message]
    limits: Limits
    refused: RefusedParameters
    stage_max_tokens: int | None = None
    tries: int = 0
    wasted_cost: float = 0.0
    has_streamed: bool = False
    _listener: Callable[[str], None] | None = field(default_factory=current_listener)

    def run(self) -> Reply:
        """Send the request, and repeat it after a wait, with exponential backoff and jitter.

        The server may ask for another wait. Where that is longer than `retry_seconds`, its error is
        raised at once: a request before that would be in vain. Raises whatever the last try raised,
        and Cancelled.
        """
        retrying = Retrying(
            stop=stop_after_attempt(self.limits.retries + 1) | self._exceeds_patience,
            wait=_compute_wait,
            retry=retry_if_exception(self._may_repeat),
            sleep=sleep,
            before_sleep=self._notify_of_wait,
            reraise=True,
        )
        reply: Reply = retrying(self._try)
        return reply

    def _notify_of_wait(self, state: RetryCallState) -> None:
        """Tell those who wait for the turn that the request waits, and why."""
        from convrag_llms.error_messages import explain_wait

        error = state.outcome.exception() if state.outcome else None
        if error is not None:
            notify(explain_wait(error, self, state.upcoming_sleep))

    def _exceeds_patience(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, ConnectionRefused) and state.attempt_number > len(QUICK_WAITS):
            return True
        return bool(state.idle_for + state.upcoming_sleep > self.limits.retry_seconds)

    def _may_repeat(self, error: BaseException) -> bool:
        if self.has_streamed:
            return False
        if isinstance(error, EmptyReply):
            return error.may_improve
        return may_pass(error)

    def _try(self) -> Reply:
        """Send the request once, within the limits, and settle what it cost."""
        limits = self.limits
        with (
            limits.budget.reserve(self._max_cost()) as settle,
            limits.rate_limiter.slot(),
            deadline(limits.timeout),
        ):
            self.tries += 1
            if self.tries > 1:
                notify(f"{self.endpoint.model} is asked again")
            try:
                reply = self.refused.ask(self._make_request(), self._ask_once)
            except EmptyReply as error:
                settle(error.cost)
                self.wasted_cost += error.cost or 0.0
                raise
            except (Cancelled, KeyboardInterrupt):  # the model may have written until then
                settle(None)
                raise
            except Exception as error:
                if may_have_cost(error):
                    settle(None)
                raise
            settle(reply.cost)
            return reply

    def _make_request(self) -> Mapping[str, Any]:
        """Make the request; of a streamed reply, the last chunk is to have the usage."""
        if self._listener is None:
            return self.body
        return {**self.body, "stream_options": {"include_usage": True}}

    def _ask_once(self, body: Mapping[str, Any]) -> Reply:
        return self.ask(body, self.limits.timeout, self._pass_on if self._listener else None)

    def _pass_on(self, piece: str) -> None:
        assert self._listener is not None
        self.has_streamed = True
        self._listener(piece)

    def _max_cost(self) -> float:
        """Compute the most US dollars of a request; prices need not be known without a limit."""
        if self.limits.budget.limit is None:
            return 0.0
        prices = self.limits.find_prices()
        if prices is None:
            return inf
        body = self.refused.adapt(self.body)
        max_tokens = body.get("max_tokens", body.get("max_completion_tokens"))
        return prices.compute_max_cost(self.messages, max_tokens)


def _compute_wait(state: RetryCallState) -> float:
    """Compute the seconds until the next request.

    There is jitter after Retry-After as well: all who wait were given the same time.
    """
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ConnectionFailed) and state.attempt_number <= len(QUICK_WAITS):
        return QUICK_WAITS[state.attempt_number - 1]
    wait = read_retry_after(error)
    if wait is None:
        wait = wait_exponential(FIRST_WAIT, max=LONGEST_WAIT)(state)
    return float(wait + wait_random(0, FIRST_WAIT)(state))
