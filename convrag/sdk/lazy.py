"""Values that are made at the first call, by whichever thread comes first; and what goes wrong with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from convrag.api.errors import ConvragError

T = TypeVar("T")


class Lazy(Generic[T]):
    """Makes a value once, however many threads ask for it. An error is not kept: the next call tries again.

        self._labels = Lazy(partial(read_labels, path))

    Args:
        make: gives the value, which every call of this object then returns.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """The value."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def collect_problems(*attempts: Callable[[], object]) -> list[str]:
    """The messages of the attempts that fail, each message once: what a stage's `check()` has to say."""
    messages: dict[str, None] = {}
    for attempt in attempts:
        try:
            attempt()
        except ConvragError as error:
            messages[str(error)] = None
    return list(messages)
