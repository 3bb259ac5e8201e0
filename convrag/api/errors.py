"""The exceptions of convrag. A ConvragError is meant for the user: its message says what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

_SHOWN = 5  # differences that a message names


class ConvragError(Exception):
    """The base class. The command prints its message without a traceback and exits with status 2."""


class ConfigError(ConvragError):
    """The configuration is not valid, or cannot be carried out."""


class UnknownName(ConfigError):
    """A name that does not exist; `choices` are those that do."""

    def __init__(self, what: str, name: str, choices: Iterable[str], hints: Iterable[str] = ()) -> None:
        self.name = name
        self.choices = sorted(choices)
        lower = {choice.casefold(): choice for choice in reversed(self.choices)}
        similar = get_close_matches(name.casefold(), lower, n=1)
        guess = f" Did you mean {lower[similar[0]]!r}?" if similar else ""
        offer = f" Choose from: {', '.join(self.choices)}." if self.choices else " There is none."
        super().__init__("\n".join([f"{what} {name!r} does not exist.{guess}{offer}", *hints]))


class UnidentifiedValue(ConvragError):
    """A value on which results depend cannot be identified, so they cannot be remembered; `place` says what it is."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(
            f"{place} cannot be identified, so results that depend on it cannot be remembered: {reason}. "
            "Use numbers, texts, lists, dictionaries, sets, paths, enums, arrays or dataclasses of these."
        )


class PluginError(ConvragError):
    """A plugin could not be loaded, or registers a name that another plugin has registered."""

    def __init__(self, message: str, *, plugin: str, distribution: str) -> None:
        self.plugin = plugin
        self.distribution = distribution
        super().__init__(message)


class StageFault(ConvragError):
    """The code of a stage raised or returned what it must not: a mistake of its author's, not of the user's."""

    exit_status = 1


class MissingExtra(ConvragError):
    """A library that an option needs is not installed."""

    def __init__(self, module: str, install: str, needed_by: str) -> None:
        self.module = module
        self.install = install
        absent = "are" if " and " in module else "is"
        super().__init__(f"{needed_by} needs {module}, which {absent} not installed: pip install {install!r}")


class NotReady(ConvragError):
    """Stages found something missing before the first turn (see `Stage.check`); `problems` holds their messages."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class DataError(ConvragError):
    """A file of the user's is missing, or its contents are not valid; `path` and `line` say where."""

    def __init__(self, message: str, *, path: Path | str, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        place = f"{path}, line {line}" if line else f"{path}"
        super().__init__(f"{place}: {message}")


class OtherConfiguration(ConfigError):
    """A conversation was begun with another configuration, or about another corpus, and goes on with that alone.

    `differences` are pairs of choices: ("rewriter=mmr", "rewriter=dhrag").
    """

    def __init__(self, conversation_id: str, differences: Sequence[tuple[str, str]]) -> None:
        self.conversation_id = conversation_id
        self.differences = list(differences)
        begun, now = (", ".join(sides[:_SHOWN]) for sides in zip(*differences, strict=True))
        more = f" (and {len(differences) - _SHOWN} more differences)" if len(differences) > _SHOWN else ""
        super().__init__(
            f"conversation {conversation_id!r} was begun with {begun}; this is {now}{more}. "
            "Choose what it was begun with, or begin another conversation."
        )


class ConversationChanged(ConvragError):
    """A conversation was continued, reset or deleted by another process while a turn of it was answered."""

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        super().__init__(
            f"conversation {conversation_id!r} was changed by another process or request while this turn was answered, "
            "so this answer is not kept. Ask again."
        )


class ConversationsUnusable(ConvragError):
    """The database of conversations cannot be opened, read or written."""


class RunStopped(ConvragError):
    """The run must stop, say at a cost limit. Finished turns are kept, and the current one does not count as failed."""


class LLMError(ConvragError):
    """A language model gave no usable reply."""

    def __init__(self, message: str, *, provider: str = "", model: str = "", status: int | None = None) -> None:
        self.provider = provider
        self.model = model
        self.status = status
        super().__init__(message)
