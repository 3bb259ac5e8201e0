"""The commands of a chat: their names, arguments and help, and how a line is read as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Command:
    """A command: "/passage 3" has the name "passage" and the argument "NUMBER".

    `run` is given what stands behind the name; `list_values` gives what may stand there, for completion.
    """

    name: str
    argument: str
    help: str
    run: Callable[[str], None]
    list_values: Callable[[], Iterable[str]] = tuple


class Commands(dict[str, Command]):
    """Commands by name, in the order of the help.

    Args:
        commands: with different names.
    """

    def __init__(self, commands: Iterable[Command]) -> None:
        super().__init__((command.name, command) for command in commands)

    def list_help(self) -> list[tuple[str, str]]:
        """The commands with what they do: ("/passage NUMBER", "a passage, ...")."""
        return [(f"/{each.name} {each.argument}".strip(), each.help) for each in self.values()]

    def explain_unknown(self, name: str) -> str:
        """What to say of a name that no command has."""
        shown = name if len(name) <= 40 else f"{name[:40]}..."
        similar = get_close_matches(name[:40].lower(), self, n=1)
        meant = f" Did you mean /{similar[0]}?" if similar else ""
        return f"There is no command /{shown}.{meant} /help lists them."
