"""Retries with exponential backoff and jitter, or after the wait that the cluster asks for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from convrag.sdk.cancellation import sleep
from convrag_elasticsearch.errors import ClusterError

if TYPE_CHECKING:
    from tenacity import RetryCallState

A = TypeVar("A")
T = TypeVar("T")

INITIAL_BACKOFF = 0.5
"""Seconds before the first retry; each wait is twice the one before."""

MAX_BACKOFF = 30.0
"""The longest wait in seconds, where the cluster asks for none."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long to try one request.

    Args:
        timeout: seconds for each attempt.
        retries: attempts after the first, at most.
        max_wait: seconds of all waits between attempts together. Where the next wait would exceed
            it, there is none.
    """

    timeout: float
    retries: int
    max_wait: float


def is_transient(error: object) -> bool:
    """Whether the request may succeed, or fail otherwise, when it is repeated."""
    return isinstance(error, ClusterError) and error.transient


def call_with_retries(
    call: Callable[[], T],
    policy: RetryPolicy,
    warn: Callable[[BaseException | None], None] = lambda error: None,
    is_transient: Callable[[BaseException], bool] = is_transient,
) -> T:
    """Call a function, and again while its error is transient; raise the last error.

    Args:
        call: the function.
        policy: how often, and for how long.
        warn: called with the error before each wait but the first, which is short.
        is_transient: whether the call is repeated after an error.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def exceeds_max_wait(state: RetryCallState) -> bool:
        return bool(state.idle_for + state.upcoming_sleep > policy.max_wait)

    def before_sleep(state: RetryCallState) -> None:
        if state.attempt_number > 1:
            warn(_read_error(state))

    retrying = Retrying(
        stop=stop_after_attempt(policy.retries + 1) | exceeds_max_wait,
        wait=_wait_seconds,
        retry=retry_if_exception(is_transient),
        before_sleep=before_sleep,
        reraise=True,
        sleep=sleep,
    )
    result: T = retrying(call)
    return result


class _Rejected(Exception):
    """Some items of a request were rejected for the moment, and are to be sent again."""


def send_items(
    send: Callable[[Sequence[A]], Sequence[T | ClusterError]],
    items: Sequence[A],
    policy: RetryPolicy,
    warn: Callable[[BaseException | None], None],
) -> list[T | ClusterError]:
    """Send items in one request, then again those that were rejected for the moment.

    Args:
        send: items -> a result or an error for each, in the same order.
        items: what to send.
        policy: how often, and for how long. After the last attempt, rejected items have an error.
        warn: called before each wait but the first.
    """
    results: dict[int, T | ClusterError] = {}
    pending = list(range(len(items)))

    def send_pending() -> None:
        sent = send([items[place] for place in pending])
        results.update(zip(pending, sent, strict=True))
        pending[:] = [place for place in pending if is_transient(results[place])]
        if pending:
            raise _Rejected(results[pending[0]])

    with suppress(_Rejected):
        call_with_retries(send_pending, policy, warn, lambda error: isinstance(error, _Rejected))
    return [results[place] for place in range(len(items))]


def backoff_seconds(attempt: int, retry_after: float | None = None) -> float:
    """Compute the wait after an attempt, in seconds.

    Args:
        attempt: its number, from 1 on.
        retry_after: seconds that the cluster asked for, if it did. Jitter is added to them, too:
            clients that were rejected together must not all return together.
    """
    wait = retry_after
    if wait is None:
        wait = min(MAX_BACKOFF, INITIAL_BACKOFF * 2 ** (attempt - 1))
    return wait + random.random() * INITIAL_BACKOFF


def _wait_seconds(state: RetryCallState) -> float:
    return backoff_seconds(state.attempt_number, getattr(_read_error(state), "retry_after", None))


def _read_error(state: RetryCallState) -> Any:
    return state.outcome.exception() if state.outcome else None
