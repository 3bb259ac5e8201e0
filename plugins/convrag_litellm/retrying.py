"""Asks again where that can help: with exponential backoff and jitter, or as long as the server says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

from convrag_litellm.reply import EmptyReply
from convrag_litellm.too_long import asked_and_limit

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

FIRST_WAIT = 1.0
"""Seconds before the second request, and how far chance may add to a wait; each wait is twice the one before."""

LONGEST_WAIT = 60.0
"""Seconds that we wait of our own accord: the window in which most providers count."""

_TOO_LONG = re.compile(r"context[\s_-]*(length|window|size|limit)|(prompt|input) is too long", re.IGNORECASE)


def with_retries(call: Callable[[], T], *, retries: int, budget: float, may_repeat: Callable[[], bool]) -> T:
    """Call, and at most `retries` times more; raises the last error as it is.

    Args:
        call: one request.
        retries: how often to ask again.
        budget: seconds to wait between the requests, all waits together. A server that asks for more has no time for
            us: its error is raised at once, instead of asking too early.
        may_repeat: asked after each failure.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def over_budget(state: RetryCallState) -> bool:
        return bool(state.idle_for + state.upcoming_sleep > budget)

    asking = Retrying(
        stop=stop_after_attempt(retries + 1) | over_budget,
        wait=_wait,
        retry=retry_if_exception(lambda error: _may_pass(error) and may_repeat()),
        reraise=True,
    )
    answer: T = asking(call)
    return answer


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error stands for."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def is_too_long(error: BaseException) -> bool:
    """Whether the prompt is longer than the model can read; servers word it in their own ways, with any status."""
    if type(error).__name__ == "ContextWindowExceededError":
        return True
    said = str(error)
    return status_of(error) != 429 and bool(_TOO_LONG.search(said) or asked_and_limit(said))


def told_to_wait(error: BaseException | None) -> float | None:
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


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: overload, timeouts, the server's own trouble, empty replies."""
    if isinstance(error, EmptyReply):
        return True
    status = status_of(error)
    if status is None or is_too_long(error):
        return False
    return status in (408, 429) or status >= 500


def _wait(state: RetryCallState) -> float:
    """Chance is added to what the server says as well: it told all who are waiting the same."""
    from tenacity import wait_exponential, wait_random

    told = told_to_wait(state.outcome.exception()) if state.outcome else None
    wait = wait_exponential(FIRST_WAIT, max=LONGEST_WAIT)(state) if told is None else told
    return float(wait + wait_random(0, FIRST_WAIT)(state))
