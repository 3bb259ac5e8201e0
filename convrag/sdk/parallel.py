"""One function over many items at once: for what waits, as calls of a language model do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from convrag.sdk.progress import track
from convrag.store.usage import UsageMeter, current_meter

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 32


def map_parallel(
    call: Callable[[T], R], items: Iterable[T], description: str, *, total: int | None = None, workers: int = WORKERS
) -> Iterator[R]:
    """Yield `call(item)` for each item, in the order of the items, with a progress bar.

    Usage counts for the stage that asks (see `convrag.store.usage`); replies are noted in the order of the items, so
    that a recording is the same every time. The first error ends it all, as soon as the calls under way are through.

    Args:
        call: is called from several threads.
        items: are taken as they are needed.
        description: stands beside the bar.
        total: how many items there are, where that is known.
        workers: calls at once; a language model has a limit of its own besides.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="side")
    waiting: deque[tuple[Future[R], UsageMeter]] = deque()
    asking = current_meter()

    def measured(item: T, meter: UsageMeter) -> R:
        with meter.measure_stage("call"):
            return call(item)

    def pass_on(meter: UsageMeter) -> None:
        if asking:
            asking[0].merge(asking[1], meter)

    def first() -> R:
        future, meter = waiting.popleft()
        try:
            return future.result()
        finally:
            pass_on(meter)

    try:
        for item in track(items, description, total):
            meter = UsageMeter()
            waiting.append((pool.submit(copy_context().run, measured, item, meter), meter))
            if len(waiting) >= 2 * workers:
                yield first()
        while waiting:
            yield first()
    finally:
        pool.shutdown(cancel_futures=True)
        for _, meter in waiting:
            pass_on(meter)
