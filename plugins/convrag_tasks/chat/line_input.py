"""Reads the lines of a chat: from a terminal, with editing and history, or from a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from convrag.sdk.tasks.signals import keep_watching, resume

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from convrag_tasks.chat.commands import Commands

PROMPT = "> "
LEAVING = "Ctrl-C again, or Ctrl-D, leaves."


class LineReader(Protocol):
    """Reads lines.

    `leaves_at_interrupt` says whether Ctrl-C ends the input; `typed` is what stood in the line that Ctrl-C ended.
    """

    @property
    def leaves_at_interrupt(self) -> bool: ...

    @property
    def typed(self) -> str: ...

    def read(self, prompt: str = PROMPT) -> str | None:
        """Read a line without white space around it; None at the end of the input.

        Raises KeyboardInterrupt where the user has typed Ctrl-C.
        """
        ...


def make_reader(history: Path, list_commands: Callable[[], Commands], *, plain: bool) -> LineReader:
    """Make the reader for standard input.

    Args:
        history: the file of the lines that were typed; only a terminal has one.
        list_commands: what can be completed; called at the first completion.
        plain: whether the output is no terminal, or one that cannot move its cursor.
    """
    if plain or sys.stdin is None or not sys.stdin.isatty():
        return PlainReader()
    from convrag_tasks.chat.completion import CommandCompleter

    return EditingReader(history, CommandCompleter(list_commands))


class PlainReader:
    """Reads from a pipe, a file, or a terminal that cannot move its cursor.

    Bytes that are no text in the input's encoding become U+FFFD.
    """

    typed = ""

    def __init__(self) -> None:
        self.leaves_at_interrupt = sys.stdin is None or not sys.stdin.isatty()
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")

    def read(self, prompt: str = PROMPT) -> str | None:
        """Read a line; see LineReader."""
        if sys.stdin is None:  # it was closed before the process began
            return None
        try:
            return input(prompt if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None


class EditingReader:
    """Reads from a terminal: Emacs's keys, history, completion; Alt-Enter, or Escape and Enter, begins a new line.

    Args:
        history: the file of the lines that were typed.
        completer: completes commands.
    """

    leaves_at_interrupt = False

    def __init__(self, history: Path, completer: Completer) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.output import create_output
        from prompt_toolkit.styles import Style

        from convrag_tasks.chat.question_history import QuestionHistory

        output = create_output(stdout=getattr(sys.stdout, "unguarded", sys.stdout))
        if hasattr(output, "enable_cpr"):  # not every terminal answers, and an answer may come when nobody reads
            output.enable_cpr = False
        self._session: PromptSession[str] = PromptSession(
            history=QuestionHistory(history),
            completer=completer,
            complete_while_typing=Condition(lambda: self._session.default_buffer.text.startswith("/")),
            key_bindings=_make_key_bindings(),
            prompt_continuation=lambda width, number, wrapped: "  " if wrapped else ". ",
            reserve_space_for_menu=6,
            enable_suspend=True,
            style=Style.from_dict({"prompt": "bold ansicyan"}),
            output=output,
        )

    @property
    def typed(self) -> str:
        """What stood in the line that was given up with Ctrl-C."""
        return self._session.default_buffer.text

    def read(self, prompt: str = PROMPT) -> str | None:
        """Read a line; see LineReader."""
        with keep_watching():
            try:
                line = self._session.prompt([("class:prompt", prompt)], handle_sigint=False)
            except EOFError:
                return None
            except KeyboardInterrupt:
                resume()
                raise
        return line.encode("utf-8", "replace").decode().strip()


def _make_key_bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
