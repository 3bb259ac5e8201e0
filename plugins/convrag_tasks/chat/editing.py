"""Reads lines from a terminal, with prompt-toolkit: keys, completion of commands, and a history in a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style

from convrag.sdk.tasks.signals import keep_watching, resume
from convrag_tasks.chat.commands import Commands
from convrag_tasks.chat.line_input import PROMPT, PlainReader

LONGEST_LINE = 10_000
"""Characters of a line that is kept: a longer one was pasted."""


class EditingReader(PlainReader):
    """Reads from a terminal: Emacs's keys, history, completion; Alt-Enter, or Escape and Enter, begins a new line.

    Args:
        history: the file of the lines that were typed.
        completer: completes commands.
    """

    def __init__(self, history: Path, completer: Completer) -> None:
        self.leaves_at_interrupt = False
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
        """Read a line; see PlainReader."""
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
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


class CommandCompleter(Completer):
    """Completes "/so" to "/sources", and "/open 2" to the ids that begin so; a question is not completed.

    Args:
        list_commands: gives the commands.
    """

    def __init__(self, list_commands: Callable[[], Commands]) -> None:
        self._list_commands = list_commands
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the completions of the text before the cursor."""
        name, space, rest = document.text_before_cursor.partition(" ")
        if not name.startswith("/"):
            return
        commands = self._list_commands()
        if not space:
            for known in commands.values():
                if f"/{known.name}".startswith(name):
                    end = " " if known.argument else ""
                    yield Completion(f"/{known.name}{end}", -len(name), display_meta=known.help)
            return
        command = commands.get(name[1:])
        if command is None:
            return
        if command.argument == "[FILE]":
            yield from self._paths.get_completions(Document(rest), complete_event)
        for value in command.list_values():
            if value.startswith(rest):
                yield Completion(value, -len(rest))


class QuestionHistory(FileHistory):
    """The history of a prompt in a file of mode 0600. Where the file cannot be written, lines are kept in memory.

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
        if len(string) <= LONGEST_LINE:
            with suppress(OSError):
                super().store_string(string.encode("utf-8", "replace").decode())
