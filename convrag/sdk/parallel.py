"""Calls a function for many items in parallel threads, for functions that wait for a server, as LLM calls do."""

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

    The usage of the calls counts for the stage that calls this function (see `convrag.store.usage`). Replies are added
    in the order of the items, so that a recording is the same every time. After the first error no more calls begin; it
    is raised when the calls in progress have ended.

    Args:
        call: the function, which is called from several threads.
        items: the items; they are taken as they are needed.
        description: the text beside the progress bar.
        total: the number of items, if known.
        workers: the number of calls at a time; the llm may have a lower limit of its own.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="side")
    waiting: deque[tuple[Future[R], UsageMeter]] = deque()
    caller = current_meter()

    def call_measured(item: T, meter: UsageMeter) -> R:
        with meter.measure_stage("call"):
            return call(item)

    def add_to_caller(meter: UsageMeter) -> None:
        if caller:
            caller[0].merge(caller[1], meter)

    def finish_oldest() -> R:
        future, meter = waiting.popleft()
        try:
            return future.result()
        finally:
            add_to_caller(meter)

    try:
        for item in track(items, description, total):
            meter = UsageMeter()
            waiting.append((pool.submit(copy_context().run, call_measured, item, meter), meter))
            if len(waiting) >= 2 * workers:
                yield finish_oldest()
        while waiting:
            yield finish_oldest()
    finally:
        pool.shutdown(cancel_futures=True)
        for _, meter in waiting:
            add_to_caller(meter)
