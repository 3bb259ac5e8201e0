"""Reads the lines of a chat from a terminal, with editing and a history, or from a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import Completer, DynamicCompleter, WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style

from convrag.sdk.llm.streaming import Stream
from convrag.sdk.tasks.signals import keep_watching, resume

PROMPT = "> "


def make_reader(
    history: Path, list_commands: Callable[[], Mapping[str, Command]], *, plain: bool
) -> PlainReader:
    """Make the reader for standard input.

    Args:
        history: the file of the lines that were typed; only a terminal has one.
        list_commands: lists the commands for completion; called at the first completion.
        plain: whether the output is not a terminal, or one that cannot move its cursor.
    """
    if plain or sys.stdin is None or not sys.stdin.isatty():
        return PlainReader()
    return EditingReader(history, make_completer(list_commands))


class PlainReader:
    """A reader of a pipe, a file, or a terminal that cannot move its cursor.

    Bytes that are not text in the input's encoding become U+FFFD. `leaves_at_interrupt` says
    whether Ctrl-C ends the input.
    """

    def __init__(self) -> None:
        self.leaves_at_interrupt = sys.stdin is None or not sys.stdin.isatty()
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")

    @property
    def typed(self) -> str:
        """The text in the line when Ctrl-C was typed."""
        return ""

    def read(self, later: Later | None = None) -> str | None:
        """Read a line without white space around it; None at the end of the input.

        Raises KeyboardInterrupt where the user has typed Ctrl-C.

        Args:
            later: shown as soon as it is there, on a terminal above the line that is being typed.
                A pipe waits for it; a terminal that cannot move its cursor does not show it.
        """
        if later and self.leaves_at_interrupt:
            later.show()
        if sys.stdin is None:  # it was closed before the process began
            return None
        try:
            return input(PROMPT if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None


class EditingReader(PlainReader):
    """A reader of a terminal, with Emacs's keys, a history and completion.

    Alt-Enter, or Escape and Enter, begins a new line.

    Args:
        history: the file of the lines that were typed.
        completer: completes commands.
    """

    def __init__(self, history: Path, completer: Completer) -> None:
        self.leaves_at_interrupt = False
        output = create_output(stdout=getattr(sys.stdout, "unguarded", sys.stdout))
        # not every terminal reports its cursor, and a report may come when nobody reads
        if hasattr(output, "enable_cpr"):
            output.enable_cpr = False
        self._session: PromptSession[str] = PromptSession(
            history=QuestionHistory(history),
            completer=completer,
            complete_while_typing=Condition(
                lambda: self._session.default_buffer.text.startswith("/")
            ),
            key_bindings=_make_key_bindings(),
            prompt_continuation=lambda width, number, wrapped: "  " if wrapped else ". ",
            reserve_space_for_menu=6,
            enable_suspend=True,
            style=Style.from_dict({"prompt": "bold ansicyan"}),
            output=output,
        )

    @property
    def typed(self) -> str:
        """The text in the line when Ctrl-C was typed."""
        return self._session.default_buffer.text

    def read(self, later: Later | None = None) -> str | None:
        """Read a line; see PlainReader."""
        watch = partial(_show_when_ended, later) if later else None
        with keep_watching():
            try:
                line = self._session.prompt(
                    [("class:prompt", PROMPT)], handle_sigint=False, pre_run=watch
                )
            except EOFError:
                return None
            except KeyboardInterrupt:
                resume()
                raise
        return line.encode("utf-8", "replace").decode().strip()


def _show_when_ended(later: Later) -> None:
    """Show something above the line that is being typed, as soon as its stream has ended."""
    show = partial(run_in_terminal, later.show)
    loop = asyncio.get_running_loop()
    context = copy_context()

    def wake() -> None:
        with suppress(RuntimeError):  # the line was read meanwhile
            loop.call_soon_threadsafe(show, context=context)

    later.stream.wake = wake
    if later.stream.has_ended:
        show()


def _make_key_bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


def make_completer(list_commands: Callable[[], Mapping[str, Command]]) -> Completer:
    """Make a completer of commands ("/so") and of their values ("/open 2"), not of questions."""

    def complete() -> Completer:
        commands = list_commands().values()
        help_texts = {f"/{command.name}": command.help for command in commands}
        values = (
            f"/{command.name} {value}" for command in commands for value in command.list_values()
        )
        return WordCompleter([*help_texts, *values], sentence=True, meta_dict=help_texts)

    return DynamicCompleter(complete)


class QuestionHistory(FileHistory):
    """The history of a prompt in a file of mode 0600; in memory if it cannot be written.

    Args:
        path: the file; made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            path.chmod(0o600)
        super().__init__(path)

    def load_history_strings(self) -> list[str]:
        """Read the lines, the newest one first; none where the file cannot be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Append a line to the file."""
        with suppress(OSError):
            super().store_string(string.encode("utf-8", "replace").decode())


class Later(NamedTuple):
    """Something to show when its stream has ended; `show` waits for that."""

    stream: Stream[Any, Any]
    show: Callable[[], object]


@dataclass(frozen=True)
class Command:
    """A command: "/passage 3" has the name "passage" and the argument "NUMBER".

    `run` gets the text after the name; `list_values` lists the values that it may have, for
    completion.
    """

    name: str
    argument: str
    help: str
    run: Callable[[str], None]
    list_values: Callable[[], Iterable[str]] = tuple
