"""The exceptions of convrag, and the file and the line of a plugin's mistake.

A ConvragError is meant for the user: its message says what to do.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from typing import Any

_MOST_DIFFERENCES = 5
"""The number of differences that a message names."""


class ConvragError(Exception):
    """The base class.

    The command prints the message without a traceback, and exits with status 2.
    """


class ConfigError(ConvragError):
    """The configuration is not valid, or cannot be carried out.

    Example:
        >>> raise ConfigError("rewriter.n=-1: it must be at least 0")
        Traceback (most recent call last):
        convrag.api.errors.ConfigError: rewriter.n=-1: it must be at least 0
    """


class UnknownName(ConfigError):
    """A name that does not exist; the message has a guess and the choices.

    Args:
        what: the kind of name ("rewriter").
        name: the name as it was given.
        choices: the names that exist.
        hints: more lines of the message.

    Example:
        >>> print(UnknownName("rewriter", "dhragg", ["mmr", "dhrag"]))
        rewriter 'dhragg' does not exist. Did you mean 'dhrag'? Choose from: dhrag, mmr.
    """

    def __init__(
        self, what: str, name: str, choices: Iterable[str], hints: Iterable[str] = ()
    ) -> None:
        from difflib import get_close_matches

        self.name = name
        self.choices = sorted(choices)
        lower = {choice.casefold(): choice for choice in reversed(self.choices)}
        similar = get_close_matches(name.casefold(), lower, n=1)
        guess = f" Did you mean {lower[similar[0]]!r}?" if similar else ""
        offer = f" Choose from: {', '.join(self.choices)}." if self.choices else " There is none."
        super().__init__("\n".join([f"{what} {name!r} does not exist.{guess}{offer}", *hints]))


class UnidentifiedValue(ConvragError):
    """A value on which results depend cannot be identified, so they cannot be remembered.

    Args:
        place: what the value is ("rewriter=mmr: parameter weights").
        reason: why it cannot be identified.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(
            f"{place} cannot be identified, so results that depend on it cannot be remembered: "
            f"{reason}. Use numbers, texts, lists, dictionaries, sets, paths, enums, arrays or "
            "dataclasses of these."
        )


class PluginError(ConvragError):
    """A plugin could not be loaded, or registers a name that another plugin has registered.

    Args:
        message: what is wrong, and what to do.
        plugin: the name of its entry point.
        distribution: the distribution that has the entry point.
    """

    def __init__(self, message: str, *, plugin: str, distribution: str) -> None:
        self.plugin = plugin
        self.distribution = distribution
        super().__init__(message)


class StageFault(ConvragError):
    """The code of a stage raised or returned what it must not: a mistake of its author."""

    exit_status = 1


class JobLost(ConvragError):
    """A job of a grid ended without a result: its process was killed, or its machine failed.

    The cell has failed. A launcher gives it as the value of a failed JobReturn, so that the grid's
    other cells go on.
    """

    exit_status = 1


class LauncherFailed(ConvragError):
    """A launcher of a grid has given up, with cells that it has not run."""

    exit_status = 1


_WITH_TORCH = tuple(f"convrag[{extra}]" for extra in ("bertopic", "colbert", "docling", "neural"))


class MissingExtra(ConvragError):
    """A library that an option needs is not installed.

    `Stage.requires` raises it for you before the first turn.

    Args:
        module: the library, as it is imported.
        install: the distribution to install, as pip names it.
        needed_by: the option or the file that needs it.

    Example:
        >>> print(MissingExtra("pyarrow", "convrag[parquet]", "reading table.parquet"))
        reading table.parquet needs pyarrow, which is not installed: pip install 'convrag[parquet]'
    """

    def __init__(self, module: str, install: str, needed_by: str) -> None:
        self.module = module
        self.install = install
        absent = "are" if " and " in module else "is"
        how = f"pip install {install!r}"
        if any(extra in install for extra in _WITH_TORCH):
            how = (
                f"pip install -c constraints.txt {install!r} "
                "(from a clone: it pins torch to a CPU build)"
            )
        super().__init__(f"{needed_by} needs {module}, which {absent} not installed: {how}")


class NotReady(ConvragError):
    """Stages found something missing before the first turn (see `Stage.check`).

    Args:
        problems: their messages.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class DataError(ConvragError):
    """A file of the user's is missing, or its contents are not valid.

    Args:
        message: what is wrong, and what it must be.
        path: the path of the file.
        line: the line of the file, from 1; None if the problem is not in one line.

    Example:
        >>> print(DataError("there must be 2 columns, not 3", path="qrels.tsv", line=7))
        qrels.tsv, line 7: there must be 2 columns, not 3
    """

    def __init__(self, message: str, *, path: Path | str, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        place = f"{path}, line {line}" if line else f"{path}"
        super().__init__(f"{place}: {message}")


class OtherConfiguration(ConfigError):
    """A conversation was begun with another configuration, or about another corpus.

    Args:
        conversation_id: the id of the conversation.
        differences: pairs of choices, then and now: ("rewriter=mmr", "rewriter=dhrag").
    """

    def __init__(self, conversation_id: str, differences: Sequence[tuple[str, str]]) -> None:
        self.conversation_id = conversation_id
        self.differences = list(differences)
        shown = self.differences[:_MOST_DIFFERENCES]
        begun = ", ".join(first for first, _ in shown)
        now = ", ".join(second for _, second in shown)
        left_out = len(self.differences) - len(shown)
        more = f" (and {left_out} more differences)" if left_out else ""
        super().__init__(
            f"conversation {conversation_id!r} was begun with {begun}; this is {now}{more}. "
            "Choose what it was begun with, or begin another conversation."
        )


class ConversationChanged(ConvragError):
    """Another process continued, reset or deleted a conversation while a turn was answered."""

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        super().__init__(
            f"conversation {conversation_id!r} was changed by another process or request while "
            "this turn was answered, so this answer is not kept. Ask again."
        )


class ConversationsUnusable(ConvragError):
    """The database of conversations cannot be opened, read or written."""


class FolderInUse(ConvragError):
    """Another process holds a folder; the message says which one, if that is known."""

    def __init__(self, folder: Path, holder: str = "another process") -> None:
        super().__init__(
            f"{folder} is in use by {holder}. Wait until it has ended, or stop it: the same "
            "command then goes on from what is remembered. Or choose another folder: "
            "hydra.run.dir=..., for a grid hydra.sweep.dir=..."
        )


class RunStopped(ConvragError):
    """The run must stop, say at a cost limit.

    Finished turns are kept, and the current one does not count as failed.
    """


class LLMError(ConvragError):
    """A language model gave no usable reply.

    A stage with an honest fallback catches it; another one lets it through.

    Args:
        message: what went wrong, without keys.
        provider: the provider of the model.
        model: the model, as the provider names it.
        status: the status of the HTTP response, if there was one.

    Example:
        >>> LLMError("the server is overloaded", provider="acme", model="acme-1", status=503).status
        503
    """

    def __init__(
        self, message: str, *, provider: str = "", model: str = "", status: int | None = None
    ) -> None:
        self.provider = provider
        self.model = model
        self.status = status
        super().__init__(message)


class CutReply(LLMError):
    """A reply ended at max_tokens before it had any text; the arguments are those of LLMError.

    Asked again as it is, the model would do so again; with more room it may reply.

    Args:
        tokens: of the reply.

    Example:
        >>> CutReply("it thought for 512 tokens and wrote nothing", tokens=512).tokens
        512
    """

    def __init__(
        self,
        message: str,
        *,
        tokens: int = 0,
        provider: str = "",
        model: str = "",
        status: int | None = None,
    ) -> None:
        self.tokens = tokens
        super().__init__(message, provider=provider, model=model, status=status)


def is_installed(module: str) -> bool:
    """Whether a module could be imported; the packages above a dotted name are imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # there is no package above it
        return False


def missing_extra(requires: Mapping[str, str], needed_by: str) -> MissingExtra | None:
    """Make the error for modules that are not installed; None if all are.

    Args:
        requires: module -> what to install for it (see `Stage.requires`).
        needed_by: the option that needs them ("llm=litellm").
    """
    absent = [module for module in requires if not is_installed(module)]
    if not absent:
        return None
    distributions = dict.fromkeys(requires[module] for module in absent)
    return MissingExtra(" and ".join(absent), " ".join(distributions), needed_by)


def locate_error(error: BaseException, packages: Collection[str]) -> str:
    """Return the place where an error was raised ("/site/acme/rewriter.py, line 12").

    It is the innermost line of these packages, since the plugin that called a library is
    responsible for its errors. If the error reached no line of theirs, it is the innermost line of
    all; without a traceback, it is empty.

    Args:
        error: the error with its traceback.
        packages: top-level names of modules.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return _format_place(error.filename, error.lineno)
    places: list[tuple[str, int]] = []
    own_places: list[tuple[str, int]] = []
    for frame, line in walk_tb(error.__traceback__):
        place = (frame.f_code.co_filename, line)
        places.append(place)
        if find_package(str(frame.f_globals.get("__name__", ""))) in packages:
            own_places.append(place)
    if not places:
        return ""
    file, line = (own_places or places)[-1]
    return _format_place(file, line)


def describe_fault(error: Exception, cls: type, method: str) -> str:
    """Describe an error that a method of a plugin's class raised, with its file and its line.

    A ConvragError is meant for the user, so its message alone describes it.
    """
    if isinstance(error, ConvragError):
        return str(error)
    raised = f"{cls.__module__}.{cls.__qualname__}.{method} raised {type(error).__name__}: {error}"
    place = locate_error(error, {find_package(cls)})
    suffix = f" ({place})" if place else ""
    return f"this should not have happened: {raised}{suffix}"


def locate_function(function: Callable[..., Any]) -> str:
    """Return the place where a function begins; empty if nobody wrote it in a file of Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code.co_filename.startswith("<"):  # such as the constructor of a dataclass
        return ""
    return _format_place(code.co_filename, code.co_firstlineno)


def find_package(thing: object) -> str:
    """Return the top-level package of a module's name, a class, a function or an object."""
    if isinstance(thing, str):
        return thing.partition(".")[0]
    module = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    return str(module).partition(".")[0]


def _format_place(file: str, line: int | None) -> str:
    return f"{file}, line {line}" if line else file
