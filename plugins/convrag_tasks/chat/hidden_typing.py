"""Keeps a terminal from showing what is typed while an answer is drawn; the next prompt reads it."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
