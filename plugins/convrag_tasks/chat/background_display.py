"""Carries something out in the background, and shows meanwhile what goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

from convrag_tasks.chat.answer_display import Display
from convrag_tasks.chat.background_call import BackgroundCall
from convrag_tasks.chat.hidden_typing import hide_typing
from convrag_tasks.chat.log_lines import show_log_lines
from convrag_tasks.chat.screen import Screen

T = TypeVar("T")


def carry_out(screen: Screen, doing: str, function: Callable[[BackgroundCall[T], Display], T]) -> tuple[T, str]:
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
