"""A command of a chat: its name, argument and help, and what carries it out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


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
