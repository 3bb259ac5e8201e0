"""Retries with exponential backoff and jitter, or after as long as the cluster asks for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from convrag.sdk.cancelling import sleep
from convrag.sdk.retry_after import parse_retry_after

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
        max_wait: seconds of all waits between attempts together. Where the next wait would exceed it, there is none.
    """

    timeout: float
    retries: int
    max_wait: float


def call_with_retries(call: Callable[[], T], policy: RetryPolicy, *, is_transient: Callable[[Any], bool]) -> T:
    """Call a function, and again while its outcome is transient; return, or raise, the last outcome.

    Args:
        call: the function.
        policy: how often, and for how long.
        is_transient: whether a result, or an error, may be another when the call is repeated.
    """
    from tenacity import Retrying, retry_if_exception, retry_if_result, stop_after_attempt

    def exceeds_max_wait(state: RetryCallState) -> bool:
        return bool(state.idle_for + state.upcoming_sleep > policy.max_wait)

    def last_outcome(state: RetryCallState) -> Any:
        assert state.outcome is not None
        return state.outcome.result()

    retrying = Retrying(
        stop=stop_after_attempt(policy.retries + 1) | exceeds_max_wait,
        wait=_wait_seconds,
        retry=retry_if_exception(is_transient) | retry_if_result(is_transient),
        retry_error_callback=last_outcome,
        sleep=sleep,
    )
    result: T = retrying(call)
    return result


class _Rejected(Exception):
    """Some items of a request were rejected for the moment, and are to be sent again."""


def send_items(
    send: Callable[[Sequence[A]], Sequence[T]],
    items: Sequence[A],
    policy: RetryPolicy,
    is_transient: Callable[[T], bool],
) -> list[T]:
    """Send items in one request, then again those that were rejected for the moment.

    Args:
        send: items -> a result for each, in the same order.
        items: what to send.
        policy: how often, and for how long. After the last try, the results say what was rejected.
        is_transient: whether a result may be another when its item is sent again.
    """
    results: dict[int, T] = {}
    pending = list(range(len(items)))

    def send_pending() -> None:
        sent = send([items[place] for place in pending])
        results.update(zip(pending, sent, strict=True))
        pending[:] = [place for place in pending if is_transient(results[place])]
        if pending:
            raise _Rejected

    with suppress(_Rejected):
        call_with_retries(send_pending, policy, is_transient=lambda outcome: isinstance(outcome, _Rejected))
    return [results[place] for place in range(len(items))]


def backoff_seconds(attempt: int, retry_after: float | None = None) -> float:
    """Compute the wait after an attempt, in seconds.

    Args:
        attempt: its number, from 1 on.
        retry_after: seconds that the cluster asked for, if it did. Jitter is added to them, too: clients that were
            rejected together must not all return together.
    """
    wait = min(MAX_BACKOFF, INITIAL_BACKOFF * 2 ** (attempt - 1)) if retry_after is None else retry_after
    return wait + random.random() * INITIAL_BACKOFF


def read_retry_after(outcome: Any) -> float | None:
    """Read the Retry-After header, a number or a date, of a reply or an error: seconds; None where there is none."""
    headers: Any = getattr(getattr(outcome, "meta", None), "headers", None)
    return parse_retry_after(str((headers or {}).get("retry-after") or ""))


def _wait_seconds(state: RetryCallState) -> float:
    outcome = state.outcome
    assert outcome is not None
    return backoff_seconds(state.attempt_number, read_retry_after(outcome.exception() or outcome.result()))
