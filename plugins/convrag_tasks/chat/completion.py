"""Completes the commands of a chat, and what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from convrag_tasks.chat.commands import Commands


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
