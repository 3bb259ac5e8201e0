"""Calls a function for many items in parallel threads, as for calls of language models.

The threads are daemons, not those of `concurrent.futures`: the latter keep an interrupted process
alive until every server has answered.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from queue import SimpleQueue
from typing import Generic, TypeVar

from convrag.concurrency.cancellation import Cancellation, Cancelled, when_cancelled
from convrag.concurrency.exits import to_exception
from convrag.concurrency.slots import release_slot
from convrag.sdk.output.progress import track
from convrag.store.usage_meter import UsageMeter, current_meter

__all__ = ["WORKERS", "call_in_threads", "map_parallel"]

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 32
"""Calls at a time, unless the caller says otherwise."""

PATIENCE = 0.5
"""Seconds that cancelled calls have to end; after that, their threads are abandoned."""


def map_parallel(
    call: Callable[[T], R],
    items: Iterable[T],
    description: str = "",
    *,
    total: int | None = None,
    workers: int = WORKERS,
) -> Iterator[R]:
    """Yield `call(item)` for each item, in the order of the items, with a progress bar.

    The usage of the calls counts for the stage that calls this function (see
    `convrag.store.usage_meter`). Replies are added in the order of the items, so that a recording
    is the same every time. How it ends early: see `call_in_threads`.

    Args:
        call: the function, which is called from several threads.
        items: the items; they are taken as they are needed.
        description: the text next to the progress bar; empty for no bar.
        total: the number of items, if known.
        workers: the number of calls at a time; the llm may have a lower limit of its own.
    """
    meters: deque[UsageMeter] = deque()
    caller = current_meter()

    def add_meters() -> Iterator[tuple[T, UsageMeter]]:
        for item in track(items, description, total) if description else items:
            meters.append(UsageMeter())
            yield item, meters[-1]

    def call_measured(task: tuple[T, UsageMeter]) -> R:
        item, meter = task
        with meter.measure_stage("call"):
            return call(item)

    def add_to_caller(meter: UsageMeter) -> None:
        if caller:
            caller[0].merge(caller[1], meter)

    try:
        with call_in_threads(call_measured, add_meters(), workers, "side") as results:
            for result in results:
                add_to_caller(meters.popleft())
                yield result
    finally:
        for meter in meters:
            add_to_caller(meter)


@contextmanager
def call_in_threads(
    call: Callable[[T], R], items: Iterable[T], workers: int, name: str
) -> Iterator[Iterator[R]]:
    """Call a function for each item in threads.

    The block gets the results in the order of the items. Where the block ends early, no further
    call begins. After an error, also one of a call, the calls in progress are waited for: their
    replies are paid for. After an interruption, or where the block belongs to a generator that is
    closed, they are cancelled (see `convrag.concurrency.cancellation`), and abandoned if they do
    not end.

    Args:
        call: the function; a context is copied for each of its calls.
        items: the items; at most twice as many as `workers` are taken ahead.
        workers: the number of calls at a time.
        name: of the threads.
    """
    threads: _Threads[R] = _Threads(workers, name)

    def iterate() -> Iterator[R]:
        futures: deque[Future[R]] = deque()
        for item in items:
            futures.append(threads.submit(call, item))
            if len(futures) >= 2 * workers:
                yield _wait_for(futures.popleft())
        while futures:
            yield _wait_for(futures.popleft())

    with when_cancelled(threads.cancellation.cancel):
        try:
            try:
                yield iterate()
            except Exception:
                threads.join()
                raise
            else:
                threads.join()
        except BaseException as error:
            if not isinstance(error, Exception):
                threads.cancellation.cancel()
                threads.join(PATIENCE)
            raise


def _wait_for(future: Future[R]) -> R:
    with release_slot():
        return future.result()


class _Threads(Generic[R]):
    """Daemon threads, each started when there is a call for it.

    Calls that have not begun when `join` is called are not made.

    Args:
        workers: the number of threads.
        name: of the threads.
    """

    def __init__(self, workers: int, name: str) -> None:
        self.cancellation = Cancellation()
        self._workers = workers
        self._name = name
        self._threads: list[threading.Thread] = []
        self._tasks: SimpleQueue[tuple[Future[R], Callable[[], R]] | None] = SimpleQueue()
        self._closed = False

    def submit(self, call: Callable[[T], R], item: T) -> Future[R]:
        """Let a thread call the function with this item."""
        future: Future[R] = Future()
        context = copy_context()
        self._tasks.put((future, lambda: context.run(self._call, call, item)))
        if len(self._threads) < self._workers:
            name = f"{self._name}_{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        return future

    def join(self, seconds: float | None = None) -> None:
        """Begin no further call, and wait for those in progress, at most so many seconds."""
        self._closed = True
        for _ in self._threads:
            self._tasks.put(None)
        if seconds is None:
            for thread in self._threads:
                thread.join()
            return
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _call(self, call: Callable[[T], R], item: T) -> R:
        with self.cancellation.apply():
            return call(item)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, call = task
            try:
                if self._closed or self.cancellation.cancelled:
                    raise Cancelled
                future.set_result(call())
            except BaseException as error:
                future.set_exception(to_exception(error))
            del task, future, call  # a thread that waits holds no results
