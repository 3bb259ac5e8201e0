"""Asks again where that can help: with exponential backoff and jitter, or as long as the server says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

FIRST_WAIT = 1.0
"""Seconds before the second request, and how far chance may add to a wait; each wait is twice the one before."""

LONGEST_WAIT = 120.0
"""Seconds. A server that asks for more has no time for us: the call fails at once instead of asking too early."""

_TOO_LONG = re.compile(r"context[\s_-]*(length|window|size)", re.IGNORECASE)


class EmptyReply(Exception):
    """The server answered without saying anything."""


def with_retries(call: Callable[[], T], retries: int) -> T:
    """Call, and at most `retries` times more; raises the last error as it is."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    for attempt in Retrying(
        stop=stop_after_attempt(retries + 1), wait=_wait, retry=retry_if_exception(_may_pass), reraise=True
    ):
        with attempt:
            return call()
    raise AssertionError("unreachable: tenacity raises the last error")


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error stands for."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def is_too_long(error: BaseException) -> bool:
    """Whether the prompt is longer than the model can read; servers word it in their own ways, with any status."""
    return type(error).__name__ == "ContextWindowExceededError" or bool(_TOO_LONG.search(str(error)))


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: overload, timeouts, the server's own trouble, empty replies."""
    if isinstance(error, EmptyReply):
        return True
    status = status_of(error)
    if status is None or is_too_long(error):
        return False
    return (status in (408, 429) or status >= 500) and (_told(error) or 0.0) <= LONGEST_WAIT


def _wait(state: RetryCallState) -> float:
    from tenacity import wait_exponential, wait_random

    backoff = wait_exponential(FIRST_WAIT, max=LONGEST_WAIT)(state) + wait_random(0, FIRST_WAIT)(state)
    told = _told(state.outcome.exception()) if state.outcome else None
    return backoff if told is None else told


def _told(error: BaseException | None) -> float | None:
    """Seconds of the reply's Retry-After, which is a number or a date; None where there is none to understand."""
    response = getattr(error, "response", None)
    headers: Any = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    value = str((headers or {}).get("retry-after") or "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
