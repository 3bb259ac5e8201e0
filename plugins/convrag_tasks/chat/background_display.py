"""Carries something out in the background, and shows meanwhile what goes on."""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeVar

from convrag.sdk.tasks.turns import logs
from convrag_tasks.chat.answer_display import PlainDisplay
from convrag_tasks.chat.background_call import BackgroundCall
from convrag_tasks.chat.screen import Screen

T = TypeVar("T")


def carry_out(screen: Screen, doing: str, function: Callable[[BackgroundCall[T], PlainDisplay], T]) -> tuple[T, str]:
    """Call a function in a thread, and show on the screen what it reports. Raises what it raises.

    Args:
        screen: where it is shown.
        doing: what goes on at first ("Searching").
        function: is given the call, by which it has the main thread print, and the display.

    Returns:
        Its result, and the text that the display has shown.
    """
    display = screen.start_answer()
    display.show_doing(doing)
    call = BackgroundCall[T](lambda call: function(call, display))
    with ExitStack() as stack:
        if not screen.is_plain:
            stack.enter_context(show_log_lines(lambda line: call.report(partial(display.print_line, line, "yellow"))))
            stack.enter_context(hide_typing())
        stack.callback(display.close)
        return call.wait(display.tick), display.text


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
