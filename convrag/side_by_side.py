"""One function over many items at once: for what waits, as calls of a language model do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from convrag.progress import track

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 32


def side_by_side(
    call: Callable[[T], R], items: Iterable[T], description: str, *, total: int | None = None, workers: int = WORKERS
) -> Iterator[R]:
    """Yield `call(item)` for each item, in the order of the items, with a progress bar.

    What the calls take counts for the stage that asks (see `convrag.meter`). The first error ends it all, as soon as
    the calls under way are through.

    Args:
        call: is called from several threads.
        items: are taken as they are needed.
        description: stands beside the bar.
        total: how many items there are, where that is known.
        workers: calls at once; a language model has a limit of its own besides.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="side")
    waiting: deque[Future[R]] = deque()
    try:
        for item in track(items, description, total):
            waiting.append(pool.submit(copy_context().run, call, item))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
