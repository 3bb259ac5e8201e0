"""Repeats requests that may succeed later: with exponential backoff and jitter, or when the server says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from convrag.sdk.cancelling import sleep
from convrag_llms.context_window import exceeds_context_window
from convrag_llms.http_errors import may_pass, read_retry_after
from convrag_llms.reply import EmptyReply

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

FIRST_WAIT = 1.0
"""Seconds before the second request, and the most that jitter adds to a wait; each wait is twice the one before."""

LONGEST_WAIT = 60.0
"""The longest wait in seconds where the server names none: the window of most providers' rate limits."""


def call_with_retries(
    call: Callable[[], T],
    *,
    retries: int,
    max_wait: float,
    may_repeat: Callable[[], bool],
    is_due: Callable[[], bool],
) -> T:
    """Call, and repeat a call that failed in a way that may pass; raises the last error as it is, and Cancelled.

    Args:
        call: makes one request.
        retries: the most repetitions.
        max_wait: seconds to wait between the requests, all waits together. Where the server asks for a longer wait,
            its error is raised at once: a request before that would be in vain.
        may_repeat: asked after each failure; False raises its error.
        is_due: asked after each failure that may pass; True repeats the request at once, since another server takes it.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def exceeds_max_wait(state: RetryCallState) -> bool:
        return bool(state.idle_for + state.upcoming_sleep > max_wait)

    def compute_wait(state: RetryCallState) -> float:
        return 0.0 if is_due() else _compute_wait(state)

    retrying = Retrying(
        stop=stop_after_attempt(retries + 1) | exceeds_max_wait,
        wait=compute_wait,
        retry=retry_if_exception(lambda error: _is_transient(error) and may_repeat()),
        sleep=sleep,
        reraise=True,
    )
    result: T = retrying(call)
    return result


def _is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later: after rate limits, timeouts, server errors and empty replies."""
    if isinstance(error, EmptyReply):
        return True
    return may_pass(error) and not exceeds_context_window(error)


def _compute_wait(state: RetryCallState) -> float:
    """Seconds until the next request; with jitter also after Retry-After, which told all who wait the same time."""
    from tenacity import wait_exponential, wait_random

    retry_after = read_retry_after(state.outcome.exception()) if state.outcome else None
    wait = wait_exponential(FIRST_WAIT, max=LONGEST_WAIT)(state) if retry_after is None else retry_after
    return float(wait + wait_random(0, FIRST_WAIT)(state))
