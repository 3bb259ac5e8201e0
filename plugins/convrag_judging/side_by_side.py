"""Records judged side by side, whose calls count for whoever waits for the results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from convrag.meter import Meter, count, note

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    """The results in the order of the items, of which few are held at a time. What `work` raises ends it."""

    def measured(item: T) -> tuple[R, Meter]:
        meter = Meter()  # a meter is not for several threads
        with meter.stage("metrics"):
            return work(item), meter

    def taken(future: Future[tuple[R, Meter]]) -> R:
        result, meter = future.result()
        for usage in meter.usage.values():
            count(usage)
        for prompt, reply in meter.replies:
            note(prompt, reply)
        return result

    waiting: deque[Future[tuple[R, Meter]]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="judging")
    try:
        for item in items:
            waiting.append(pool.submit(measured, item))
            if len(waiting) > 2 * workers:
                yield taken(waiting.popleft())
        while waiting:
            yield taken(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)
