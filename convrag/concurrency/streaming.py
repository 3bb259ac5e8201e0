"""Streams: pieces of a reply for a listener, notices of what a turn waits for, and events."""

import threading
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Generic, TypeVar

from convrag.concurrency.cancellation import Cancellation, when_cancelled
from convrag.concurrency.exits import to_exception

E = TypeVar("E")
T = TypeVar("T")

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("convrag_listener", default=None)
_notified: ContextVar[Callable[[str, bool], None] | None] = ContextVar(
    "convrag_notified", default=None
)


@contextmanager
def listen_with(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Pass the pieces of replies that come in this thread during the block to a listener.

    Args:
        listener: is called with each piece; None passes them to nobody.
    """
    if listener is None:
        token = _listener.set(None)
    else:
        joiner = _SurrogateJoiner(listener)
        token = _listener.set(joiner.add)
    try:
        yield
        if listener is not None:
            joiner.finish()
    finally:
        _listener.reset(token)


class _SurrogateJoiner:
    """Keeps half a surrogate pair at the end of a piece until the other half comes.

    Args:
        listener: is called with the texts, in which no pair is cut.
    """

    def __init__(self, listener: Callable[[str], None]) -> None:
        self._listener = listener
        self._decoder = getincrementaldecoder("utf-16-le")("replace")

    def add(self, piece: str) -> None:
        """Pass on a piece, without the half of a pair at its end."""
        self._pass_on(self._decoder.decode(piece.encode("utf-16-le", "surrogatepass")))

    def finish(self) -> None:
        """Pass on the half that is left, as U+FFFD."""
        self._pass_on(self._decoder.decode(b"", final=True))

    def _pass_on(self, text: str) -> None:
        if text:
            self._listener(text)


def current_listener() -> Callable[[str], None] | None:
    """Return the listener of this thread.

    An LLM that streams calls it with each piece of its reply, in order.
    """
    return _listener.get()


@contextmanager
def notify_with(notified: Callable[[str, bool], None] | None) -> Iterator[None]:
    """Pass the notices of this thread during the block to a function; None passes them to nobody.

    Args:
        notified: is called with the arguments of `notify`.
    """
    token = _notified.set(notified)
    try:
        yield
    finally:
        _notified.reset(token)


def notify(notice: str, restarts: bool = False) -> None:
    """Tell those who wait for a turn what it waits for.

    Args:
        notice: a clause without a full stop, such as "The model is asked again in 8 s".
        restarts: whether the pieces until now are not part of the answer, which begins after them.
    """
    notified = _notified.get()
    if notified is not None:
        notified(notice, restarts)


class Stream(Generic[E, T]):
    """Work in a thread whose events are iterated over, once, with `for` or `async for`.

        stream = Stream(lambda send: pipeline.turn("id", "What is BERT?", listener=send))
        for piece in stream:  # or: async for piece in stream
            print(piece, end="")
        print(stream.record)

    The work begins with the iteration, or with `start`. Leaving the loop early cancels it, and so
    does cancelling the task of an `async for`.

    Args:
        work: returns the record. It calls its argument with each event, such as a piece of the
            answer; that raises Cancelled once the stream is cancelled.
    """

    def __init__(self, work: Callable[[Callable[[E], None]], T]) -> None:
        self._work = work
        self._begun = False
        self._iterated = False
        self._has_news = threading.Event()
        self._ended = threading.Event()
        self._records: list[T] = []
        self.error: BaseException | None = None
        """The error that ended the work."""
        self.events: deque[E] = deque()
        """The events that nobody has taken yet."""
        self.wake: Callable[[], None] = self._has_news.set
        """The function that the thread calls after each event, and at the end."""
        self.cancellation = Cancellation()

    @property
    def has_ended(self) -> bool:
        """Whether the work has ended; no event comes after that."""
        return self._ended.is_set()

    @property
    def record(self) -> T:
        """The record of the work; waits for its end.

        Raises:
            RuntimeError: the work has not begun.
            BaseException: what the work raised.
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

    def cancel(self) -> None:
        """End the waits of the work; without effect where it has ended."""
        self.cancellation.cancel()

    def __iter__(self) -> Iterator[E]:
        """Yield the events in order; leaving the loop closes the iterator and cancels the work.

        Raises:
            RuntimeError: the stream was iterated over before.
            BaseException: what the work raised.
        """
        with closing(self.tick()) as events:
            for event in events:
                if event is not None:
                    yield event

    def tick(self, seconds: float | None = None) -> Generator[E | None, None, None]:
        """Iterate, and yield None where no event came for so many seconds."""
        self._begin_iteration()
        try:
            while True:
                self._has_news.clear()
                is_last = self.has_ended
                while self.events:
                    yield self.events.popleft()
                if is_last:
                    break
                if not self._has_news.wait(seconds):
                    yield None
        finally:
            self.cancel()
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[E]:
        """Yield the events in order, and raise, as `for` does."""
        import asyncio  # takes as long to import as all of api/; only `async for` needs it

        loop = asyncio.get_running_loop()
        has_news = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(has_news.set)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self.cancel()

        self.wake = wake
        self._begin_iteration()
        try:
            while True:
                has_news.clear()
                is_last = self.has_ended
                while self.events:
                    yield self.events.popleft()
                if is_last:
                    break
                await has_news.wait()
        finally:
            self.cancel()
        if self.error is not None:
            raise self.error

    def _send(self, event: E) -> None:
        """Add an event. Raises Cancelled once the stream is cancelled."""
        self.cancellation.check()
        self.events.append(event)
        self.wake()

    def _begin_iteration(self) -> None:
        if self._iterated:
            raise RuntimeError("a stream can be iterated over once")
        self._iterated = True
        if not self._begun:
            self.start()

    def _run(self) -> None:
        try:
            with when_cancelled(self.cancel), self.cancellation.apply():
                self._records.append(self._work(self._send))
        except BaseException as error:
            self.error = to_exception(error)
        finally:
            self._ended.set()
            self.wake()
