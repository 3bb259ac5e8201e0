"""What all calls of a stage share: prices and what may be spent, how many requests at a time and in
a minute.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from convrag import Message
from convrag.sdk.cancellation import check_cancelled, sleep, when_cancelled
from convrag.sdk.errors import RunStopped

_TEMPLATE_TOKENS = 16  # that a chat template may add to a message, and to the prompt; generous
_MANY = 10**9  # tokens: so long a prompt costs the rate of the highest tier


class TokenPrices(NamedTuple):
    """US dollars for a token of the input and of the output, at the highest rates, and the longest output in tokens."""

    input_price: float
    output_price: float
    max_output_tokens: int | None

    def find_longest(self, max_tokens: Any) -> float:
        """The longest reply in tokens, as far as it costs something; infinite where it has no
        limit.
        """
        return float(max_tokens or self.max_output_tokens or "inf") if self.output_price else 0.0

    def compute_max_cost(self, messages: Sequence[Message], max_tokens: Any) -> float:
        """US dollars for a token per byte of the prompt, which no tokenizer exceeds, and a reply of
        full length.
        """
        prompt_tokens = (
            sum(len(message.content.encode()) + _TEMPLATE_TOKENS for message in messages)
            + _TEMPLATE_TOKENS
        )
        return prompt_tokens * self.input_price + self.find_longest(max_tokens) * self.output_price


def read_given_prices(extra: Mapping[str, Any]) -> TokenPrices | None:
    """The prices that a user gave among other parameters; None without any."""
    if "input_cost_per_token" not in extra:
        return None
    return TokenPrices(
        float(extra["input_cost_per_token"]), float(extra.get("output_cost_per_token", 0.0)), None
    )


def compute_listed_cost(
    model: str, address: str, prompt: int, completion: int, cached: int = 0
) -> float | None:
    """US dollars of a request at the prices that its provider lists, as the package genai-prices
    has them.

    Args:
        model: as the provider names it.
        address: the provider's, by which genai-prices finds it.
        prompt: tokens of the prompt.
        completion: tokens of the reply.
        cached: the part of the prompt's tokens that the provider had in its cache.

    Returns:
        The cost; None for a provider or a model that is not listed.
    """
    from genai_prices import Usage, calc_price  # a third of a second, for paid models alone

    usage = Usage(
        input_tokens=prompt, output_tokens=completion, cache_read_tokens=min(cached, prompt)
    )
    try:
        return float(calc_price(usage, model, provider_api_url=address).total_price)
    except LookupError:
        return None


def find_listed_prices(model: str, address: str) -> TokenPrices | None:
    """The highest prices that a provider lists for a model; None for a provider or a model that is
    not listed.
    """
    asked, written = (
        compute_listed_cost(model, address, _MANY, completion) for completion in (0, _MANY)
    )
    if asked is None or written is None:
        return None
    return TokenPrices(asked / _MANY, (written - asked) / _MANY, None)


WINDOW_SECONDS = 60.0
"""The length of the sliding window in which requests are counted."""


class Budget:
    """Keeps what requests cost below a limit, however many are in flight.

    Args:
        limit: US dollars; None is no limit.
        model: named in the error message.
    """

    def __init__(self, limit: float | None, model: str) -> None:
        self.limit = limit
        self.model = model
        self.spent = 0.0
        self._reserved: list[float] = []
        self._changed = threading.Condition()

    @contextmanager
    def reserve(self, max_cost: float) -> Iterator[Callable[[float | None], None]]:
        """Reserve the most that a request can cost while it is in flight; yields a function to tell
        what it did cost.

        Told None, for a cost that is not known, it counts the most; where it is told nothing, there
        was none.

        A request that would fit but for the reservations of others waits until these are settled.

        Args:
            max_cost: US dollars.

        Raises:
            RunStopped: what is left of the budget is less than max_cost.
            Cancelled: the calls of this thread are cancelled meanwhile.
        """
        cost = 0.0

        def settle(real: float | None) -> None:
            nonlocal cost
            cost = max_cost if real is None else real

        with self._changed:
            wait_for(
                self._changed,
                lambda: self._fits(max_cost + sum(self._reserved)) or not self._fits(max_cost),
            )
            if not self._fits(max_cost):
                raise RunStopped(
                    f"llm.max_cost_usd={self.limit:g} is nearly spent: {self.model} has cost ${self.spent:.4f}, and "
                    f"the next request could cost ${max_cost:.4f}. Give it more, and the same command goes on from "
                    "here."
                )
            self._reserved.append(max_cost)
        try:
            yield settle
        finally:
            with self._changed:
                self._reserved.remove(max_cost)
                self.spent += cost
                self._changed.notify_all()

    def _fits(self, max_cost: float) -> bool:
        return self.limit is None or self.spent + max_cost <= self.limit


class RateLimiter:
    """Delays requests so that they keep within both limits.

    Args:
        max_concurrent: requests in flight at a time; None does not limit them.
        per_minute: requests begun in any 60 seconds; None does not limit them.
    """

    def __init__(self, max_concurrent: int | None, per_minute: int | None) -> None:
        self._free = max_concurrent or float("inf")
        self._starts: deque[float] | None = deque(maxlen=per_minute) if per_minute else None
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait until a request may begin, and hold a slot while it is in flight. Raises Cancelled."""
        if self._starts is not None:
            sleep(self._schedule_start(self._starts))
        with self._changed:
            wait_for(self._changed, lambda: self._free > 0)
            self._free -= 1
        try:
            check_cancelled()
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()

    def _schedule_start(self, starts: deque[float]) -> float:
        """Add the next free start to `starts`, and return the seconds until then.

        It lies a window after the start `per_minute` requests earlier, which is the oldest that the
        deque holds.
        """
        with self._changed:
            now = time.monotonic()
            start = max(now, starts[0] + WINDOW_SECONDS) if len(starts) == starts.maxlen else now
            starts.append(start)
            return start - now


@dataclass(frozen=True)
class Limits:
    """The limits of a stage; see the options for timeout, retries and retry_seconds."""

    timeout: float
    retries: int
    retry_seconds: float
    rate_limiter: RateLimiter
    budget: Budget
    find_prices: Callable[[], TokenPrices | None]


def wait_for(changed: threading.Condition, is_due: Callable[[], bool]) -> None:
    """Wait, holding the lock of `changed`, until something is due. Raises Cancelled."""
    if is_due():
        return

    def wake() -> None:
        with changed:
            changed.notify_all()

    with when_cancelled(wake):
        try:
            while not is_due():
                check_cancelled()
                changed.wait()
        except BaseException:
            changed.notify()  # what woke this thread may have been meant for another
            raise
