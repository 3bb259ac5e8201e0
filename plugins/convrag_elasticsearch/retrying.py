"""Asks again where that can help: with growing waits and some chance, or as long as the cluster says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

FIRST_WAIT = 0.5
"""Seconds before the second request; each wait is twice the one before."""

LONGEST_WAIT = 30.0
"""Seconds that we wait of our own accord."""


@dataclass(frozen=True)
class Patience:
    """How long to go on with one request.

    Args:
        timeout: seconds for each try.
        retries: how often to ask again.
        seconds: to wait between the tries, all waits together. A cluster that asks for more gets no further try.
    """

    timeout: float
    retries: int
    seconds: float


def with_retries(call: Callable[[], T], patience: Patience, *, passing: Callable[[Any], bool]) -> T:
    """Call, and again while `passing` says of the result or the error that it may pass; then whatever came last."""
    from tenacity import Retrying, retry_if_exception, retry_if_result, stop_after_attempt

    def over_budget(state: RetryCallState) -> bool:
        return bool(state.idle_for + state.upcoming_sleep > patience.seconds)

    def give_up(state: RetryCallState) -> Any:
        assert state.outcome is not None
        return state.outcome.result()

    asking = Retrying(
        stop=stop_after_attempt(patience.retries + 1) | over_budget,
        wait=_wait,
        retry=retry_if_exception(passing) | retry_if_result(passing),
        retry_error_callback=give_up,
    )
    answer: T = asking(call)
    return answer


def pause(attempt: int, told: float | None = None) -> float:
    """Seconds to wait after so many tries, from 1 on. Chance keeps those apart who were turned away together."""
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) if told is None else told
    return wait + random.random() * FIRST_WAIT


def told_to_wait(value: Any) -> float | None:
    """Seconds that an answer's or an error's Retry-After asks for, a number or a date; None where it says nothing."""
    headers: Any = getattr(getattr(value, "meta", None), "headers", None)
    said = str((headers or {}).get("retry-after") or "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _wait(state: RetryCallState) -> float:
    outcome = state.outcome
    assert outcome is not None
    return pause(state.attempt_number, told_to_wait(outcome.exception() or outcome.result()))
