"""Carries something out in the background, and shows meanwhile what goes on."""

import atexit
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from convrag.sdk.cancelling import check_cancelled, when_cancelled
from convrag.sdk.streaming import Stream
from convrag.sdk.tasks.turns import logs
from convrag_tasks.chat.answer_display import PlainDisplay
from convrag_tasks.chat.screen import Screen

T = TypeVar("T")

Tell = Callable[[Callable[[], object]], None]
"""Has the main thread, which alone prints and reads, call a function soon. Called by the thread of the call."""

TICK_SECONDS = 0.08
"""From one tick of the display to the next while nothing is told."""


def carry_out(screen: Screen, doing: str, function: Callable[[Tell, PlainDisplay], T]) -> tuple[T, str]:
    """Call a function in a thread, and show on the screen what it tells. Raises what it raises.

    Args:
        screen: where it is shown.
        doing: what goes on at first ("Searching").
        function: is given what has the main thread print, and the display.

    Returns:
        Its result, and the text that the display has shown.
    """
    display = screen.start_answer()
    display.show_doing(doing)
    call = Stream[Callable[[], object], T](lambda tell: function(tell, display))
    with ExitStack() as stack:
        if not screen.is_plain:
            show = lambda line: call.events.append(partial(display.print_line, line, "yellow"))  # noqa: E731
            stack.enter_context(show_log_lines(show))
            stack.enter_context(hide_typing())
        stack.callback(display.close)
        return wait_for(call, display.tick), display.text


def wait_for(call: Stream[Callable[[], object], T], tick: Callable[[], object]) -> T:
    """Carry out what a call tells, and return its result. Raises what it raises.

    An exception of this thread, such as KeyboardInterrupt, cancels the call: its waits end, what it does after that is
    not shown, and this function does not wait for it.

    Args:
        call: the call.
        tick: is called several times a second, and after each function that is told.
    """
    try:
        for show in call.tick(TICK_SECONDS):
            if show:
                show()
            tick()
    except BaseException:
        call.cancel()
        raise
    return call.record


def ask(tell: Tell, read: Callable[[], T]) -> T:
    """Have the main thread call a function, and return its result. Called by the thread of the call.

    Raises Cancelled where the main thread has given up, as after Ctrl-C.
    """
    replies: SimpleQueue[T | None] = SimpleQueue()
    tell(lambda: replies.put(read()))
    with when_cancelled(lambda: replies.put(None)):
        reply = replies.get()
    check_cancelled()
    return reply  # type: ignore[return-value]


@contextmanager
def hide_typing() -> Iterator[None]:
    """Turn the echo of the terminal off during the block. Ctrl-C is heard as before.

    Without effect on Windows, and where the input is no terminal.
    """
    try:
        import termios
    except ImportError:
        yield
        return
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]

    def restore() -> None:
        termios.tcsetattr(number, termios.TCSADRAIN, before)

    atexit.register(restore)  # a second signal ends the process where it is
    termios.tcsetattr(number, termios.TCSADRAIN, hidden)
    try:
        yield
    finally:
        restore()
        atexit.unregister(restore)


class _Lines:
    """A stream for a log handler.

    Args:
        show: is called with each line, in the thread that logs.
    """

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show

    def write(self, text: str) -> None:
        self._show(text.rstrip("\n"))

    def flush(self) -> None:
        """Nothing: lines are shown at once."""


@contextmanager
def show_log_lines(show: Callable[[str], object]) -> Iterator[None]:
    """Pass what the log prints on the terminal during the block to a function, which prints it where there is room.

    Failures of stages are left out: the record of the turn has them.
    """
    handlers = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    streams = [handler.setStream(_Lines(show)) for handler in handlers]
    for handler in handlers:
        handler.addFilter(_is_no_failure)
    try:
        yield
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.removeFilter(_is_no_failure)
            handler.setStream(stream)


def _is_no_failure(record: logging.LogRecord) -> bool:
    return record.name != logs.__name__
