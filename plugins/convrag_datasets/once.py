"""Values that are computed at the first call, and what went wrong with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from convrag.errors import ConvragError

T = TypeVar("T")


class Once(Generic[T]):
    """Computes a value once, however many threads ask for it. An error is not kept: the next call tries again."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._lock = threading.Lock()
        self._values: list[T] = []

    def __call__(self) -> T:
        """The value."""
        with self._lock:
            if not self._values:
                self._values.append(self._compute())
            return self._values[0]


def problems(*attempts: Callable[[], object]) -> list[str]:
    """The messages of the attempts that fail, each message once."""
    messages: dict[str, None] = {}
    for attempt in attempts:
        try:
            attempt()
        except ConvragError as error:
            messages[str(error)] = None
    return list(messages)
