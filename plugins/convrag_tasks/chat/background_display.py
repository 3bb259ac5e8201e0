"""Carries something out in a thread, and shows meanwhile what goes on: the terminal stays alive and hears Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from convrag.sdk.cancelling import check_cancelled, when_cancelled
from convrag.sdk.streaming import Stream
from convrag_tasks.chat.answer_display import Display
from convrag_tasks.chat.hidden_typing import hide_typing
from convrag_tasks.chat.log_lines import show_log_lines
from convrag_tasks.chat.screen import Screen

T = TypeVar("T")

Tell = Callable[[Callable[[], object]], None]
"""Has the main thread, which alone prints and reads, call a function soon. Called by the thread of the call."""

TICK_SECONDS = 0.08
"""From one tick of the display to the next while nothing is told."""


def carry_out(screen: Screen, doing: str, function: Callable[[Tell, Display], T]) -> tuple[T, str]:
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
