"""Values that are made at the first call, and the errors of making them, for `check()`."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from convrag.api.errors import ConvragError

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is made at the first call and then kept, for all threads.

    After an error, the next call tries again.

        self._labels = Lazy(partial(read_labels, path))

    Args:
        make: makes the value, which each call of this object returns.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """Return the value; make it at the first call."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


def collect_problems(*attempts: Callable[[], object]) -> list[str]:
    """Call functions, and return the messages of their ConvragErrors, each once.

    A stage's `check()` may return them.
    """
    messages: dict[str, None] = {}
    for attempt in attempts:
        try:
            attempt()
        except ConvragError as error:
            messages[str(error)] = None
    return list(messages)
