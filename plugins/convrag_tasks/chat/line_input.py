"""Reads the lines of a chat: from a terminal, with editing and history, or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from convrag_tasks.chat.commands import Commands

PROMPT = "> "
LEAVING = "Ctrl-C again, or Ctrl-D, leaves."


def make_reader(history: Path, list_commands: Callable[[], Commands], *, plain: bool) -> PlainReader:
    """Make the reader for standard input.

    Args:
        history: the file of the lines that were typed; only a terminal has one.
        list_commands: what can be completed; called at the first completion.
        plain: whether the output is no terminal, or one that cannot move its cursor.
    """
    if plain or sys.stdin is None or not sys.stdin.isatty():
        return PlainReader()
    from convrag_tasks.chat.editing import CommandCompleter, EditingReader

    return EditingReader(history, CommandCompleter(list_commands))


class PlainReader:
    """Reads from a pipe, a file, or a terminal that cannot move its cursor.

    Bytes that are no text in the input's encoding become U+FFFD.

    `leaves_at_interrupt` says whether Ctrl-C ends the input.
    """

    def __init__(self) -> None:
        self.leaves_at_interrupt = sys.stdin is None or not sys.stdin.isatty()
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")

    @property
    def typed(self) -> str:
        """What stood in the line that Ctrl-C has ended."""
        return ""

    def read(self, prompt: str = PROMPT) -> str | None:
        """Read a line without white space around it; None at the end of the input.

        Raises KeyboardInterrupt where the user has typed Ctrl-C.
        """
        if sys.stdin is None:  # it was closed before the process began
            return None
        try:
            return input(prompt if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None
