"""Streaming: an LLM passes the pieces of its reply to a listener, and a thread passes what it tells
to a loop.
"""

import threading
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Generic, TypeVar

from convrag.concurrency.cancellation import Cancellation, when_cancelled

E = TypeVar("E")
T = TypeVar("T")

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("convrag_listener", default=None)


@contextmanager
def listen_with(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Pass the replies that LLMs give in this thread during the block to `listener`, in pieces;
    None turns this off.
    """
    decoder = getincrementaldecoder("utf-16-le")(
        "replace"
    )  # keeps half a surrogate pair until the other half comes

    def tell(piece: str) -> None:
        if listener and (
            text := decoder.decode(piece.encode("utf-16-le", "surrogatepass"), final=not piece)
        ):
            listener(text)

    token = _listener.set(tell if listener else None)
    try:
        yield
        tell("")
    finally:
        _listener.reset(token)


def current_listener() -> Callable[[str], None] | None:
    """Return the listener of this thread. An LLM that streams calls it with each piece of its
    reply, in order.
    """
    return _listener.get()


class Stream(Generic[E, T]):
    """Work in a thread: the events that it tells, to iterate over once with `for` or `async for`,
    then its `record`.

        stream = Stream(lambda tell: pipeline.turn("id", "What is BERT?", listener=tell))
        for piece in stream:  # or: async for piece in stream
            print(piece, end="")
        print(stream.record)

    The work begins with the iteration, or with `start`. Leaving an `async for`, or cancelling its
    task, cancels it.

    Args:
        work: returns the record. It calls its argument with each event, such as a piece of the
            answer; that raises Cancelled once the stream is cancelled.
    """

    def __init__(self, work: Callable[[Callable[[E], None]], T]) -> None:
        self._work = work
        self._begun = self._iterated = False
        self._come = threading.Event()
        self._ended = threading.Event()
        self._records: list[T] = []
        self.error: BaseException | None = None
        """What the work raised."""
        self.events: deque[E] = deque()
        """What was told and nobody has taken yet."""
        self.wake: Callable[[], None] = self._come.set
        """Is called by the thread after each event, and at the end."""
        self.cancellation = Cancellation()

    @property
    def has_ended(self) -> bool:
        """Whether the work has ended; no event comes after that."""
        return self._ended.is_set()

    @property
    def record(self) -> T:
        """The record of work that has begun; waits for its end. Raises what the work raised, else
        RuntimeError.
        """
        if not self._begun:
            raise RuntimeError("the record is there when all pieces have been read")
        self._ended.wait()
        if self.error is not None:
            raise self.error
        return self._records[0]

    def start(self, call_in_thread: Callable[[Callable[[], None]], object] | None = None) -> None:
        """Begin the work.

        Args:
            call_in_thread: calls a function in a thread; by default in a new one. It has a copy of
                this context.
        """
        self._begun = True
        run = partial(copy_context().run, self._run)
        if call_in_thread:
            call_in_thread(run)
        else:
            threading.Thread(target=run, name="stream", daemon=True).start()

    def tell(self, event: E) -> None:
        """Add an event; called by the thread. Raises Cancelled once the stream is cancelled."""
        self.cancellation.check()
        self.events.append(event)
        self.wake()

    def cancel(self) -> None:
        """End the waits of the work; without effect where it has ended."""
        self.cancellation.cancel()

    def __iter__(self) -> Iterator[E]:
        """Yield the events in order. Raises what the work raised, and RuntimeError at a second
        iteration.
        """
        return (event for event in self.tick() if event is not None)

    def tick(self, seconds: float | None = None) -> Iterator[E | None]:
        """Iterate, and yield None where no event came for so many seconds."""
        self._begin_iteration()
        while True:
            self._come.clear()
            ended = self.has_ended
            while self.events:
                yield self.events.popleft()
            if ended:
                break
            if not self._come.wait(seconds):
                yield None
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[E]:
        """Yield the events in order. Raises what the work raised, and RuntimeError at a second
        iteration.
        """
        import asyncio  # takes as long to import as all of api/; only `async for` needs it

        loop, come = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(come.set)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self.cancel()

        self.wake = wake
        self._begin_iteration()
        try:
            while True:
                come.clear()
                ended = self.has_ended
                while self.events:
                    yield self.events.popleft()
                if ended:
                    break
                await come.wait()
        finally:
            self.cancel()
        if self.error is not None:
            raise self.error

    def _begin_iteration(self) -> None:
        if self._iterated:
            raise RuntimeError("a stream can be iterated over once")
        self._iterated = True
        if not self._begun:
            self.start()

    def _run(self) -> None:
        try:
            with when_cancelled(self.cancel), self.cancellation.apply():
                self._records.append(self._work(self.tell))
        except BaseException as error:
            self.error = error
        finally:
            self._ended.set()
            self.wake()
