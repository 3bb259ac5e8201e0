"""What can go wrong, as types. A ConvragError is meant for the user: it says what to do, and carries data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path


class ConvragError(Exception):
    """The root. The command prints the message without a traceback and exits with status 2."""


class ConfigError(ConvragError):
    """The configuration asks for something that cannot be."""


class UnknownName(ConfigError):
    """A name that is none of the `choices`."""

    def __init__(self, what: str, name: str, choices: Iterable[str], hints: Iterable[str] = ()) -> None:
        self.name = name
        self.choices = sorted(choices)
        near = get_close_matches(name, self.choices, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        there = f" Choose from: {', '.join(self.choices)}." if self.choices else " There is none."
        super().__init__("\n".join([f"{what} {name!r} does not exist.{guess}{there}", *hints]))


class PluginError(ConvragError):
    """A plugin could not be loaded, or claims what another one has."""

    def __init__(self, message: str, *, plugin: str, distribution: str) -> None:
        self.plugin = plugin
        self.distribution = distribution
        super().__init__(message)


class MissingExtra(ConvragError):
    """A library that an option needs is not installed."""

    def __init__(self, module: str, install: str, needed_by: str) -> None:
        self.module = module
        self.install = install
        absent = "are" if " and " in module else "is"
        super().__init__(f"{needed_by} needs {module}, which {absent} not installed: pip install {install!r}")


class NotReady(ConvragError):
    """What `check()` of the chosen stages found missing before the first turn."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class DataError(ConvragError):
    """A file of the user's that cannot be read as what it should be."""

    def __init__(self, message: str, *, path: Path | str, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        place = f"{path}, line {line}" if line else f"{path}"
        super().__init__(f"{place}: {message}")


class RunStopped(ConvragError):
    """The run must end here (say, at a cost limit); what was done is kept, and no turn is counted as failed for it."""


class LLMError(ConvragError):
    """A language model gave no usable reply."""

    def __init__(self, message: str, *, provider: str = "", model: str = "", status: int | None = None) -> None:
        self.provider = provider
        self.model = model
        self.status = status
        super().__init__(message)
