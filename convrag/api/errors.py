"""The exceptions of convrag, and where a plugin's mistake is: the file and the line of an error, or
of a function.

A ConvragError is meant for the user: its message says what to do.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from typing import Any

_SHOWN = 5  # differences that a message names


class ConvragError(Exception):
    """The base class. The command prints its message without a traceback and exits with status 2."""


class ConfigError(ConvragError):
    """The configuration is not valid, or cannot be carried out.

    Example:
        >>> raise ConfigError("rewriter.n=-1: it must be at least 0")
        Traceback (most recent call last):
        convrag.api.errors.ConfigError: rewriter.n=-1: it must be at least 0
    """


class UnknownName(ConfigError):
    """A name that does not exist. The message has a guess and the choices, which `choices` holds in order.

    Args:
        what: which kind of name it is ("rewriter").
        name: as it was given.
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
    """A value on which results depend cannot be identified, so they cannot be remembered; `place` says what it is."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        super().__init__(
            f"{place} cannot be identified, so results that depend on it cannot be remembered: {reason}. "
            "Use numbers, texts, lists, dictionaries, sets, paths, enums, arrays or dataclasses of these."
        )


class PluginError(ConvragError):
    """A plugin could not be loaded, or registers a name that another plugin has registered.

    Args:
        message: what is wrong, and what to do.
        plugin: the name of its entry point.
        distribution: whose entry point that is.
    """

    def __init__(self, message: str, *, plugin: str, distribution: str) -> None:
        self.plugin = plugin
        self.distribution = distribution
        super().__init__(message)


class StageFault(ConvragError):
    """The code of a stage raised or returned what it must not: a mistake of its author's, not of the user's."""

    exit_status = 1


class JobLost(ConvragError):
    """A job of a grid ended without a result: its process was killed, or its machine failed. The cell has failed.

    A launcher gives it as the value of a failed JobReturn, so that the grid's other cells go on.
    """

    exit_status = 1


class LauncherFailed(ConvragError):
    """A launcher of a grid has given up, with cells that it has not run."""

    exit_status = 1


_WITH_TORCH = tuple(f"convrag[{extra}]" for extra in ("bertopic", "docling", "neural"))


class MissingExtra(ConvragError):
    """A library that an option needs is not installed. `Stage.requires` raises it for you before the first turn.

    Args:
        module: the library, as it is imported.
        install: what to install, as pip names it.
        needed_by: the option or the file.

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
            how = f"pip install -c constraints.txt {install!r} (from a clone: it pins torch to a CPU build)"
        super().__init__(f"{needed_by} needs {module}, which {absent} not installed: {how}")


class NotReady(ConvragError):
    """Stages found something missing before the first turn (see `Stage.check`); `problems` holds their messages."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class DataError(ConvragError):
    """A file of the user's is missing, or its contents are not valid.

    Args:
        message: what is wrong, and what it must be.
        path: of the file.
        line: in the file, from 1; None where it is not in one line.

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
    """A conversation was begun with another configuration, or about another corpus, and goes on with that alone.

    Args:
        conversation_id: of the conversation.
        differences: pairs of choices, then and now: ("rewriter=mmr", "rewriter=dhrag").
    """

    def __init__(self, conversation_id: str, differences: Sequence[tuple[str, str]]) -> None:
        self.conversation_id = conversation_id
        self.differences = list(differences)
        begun, now = (", ".join(sides[:_SHOWN]) for sides in zip(*differences, strict=True))
        more = (
            f" (and {len(differences) - _SHOWN} more differences)"
            if len(differences) > _SHOWN
            else ""
        )
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


class FolderInUse(ConvragError):
    """Another process holds a folder; the message says which one, if that is known."""

    def __init__(self, folder: Path, holder: str = "another process") -> None:
        super().__init__(
            f"{folder} is in use by {holder}. Wait until it has ended, or stop it: the same "
            "command then goes on from what is remembered. Or choose another folder: "
            "hydra.run.dir=..., for a grid hydra.sweep.dir=..."
        )


class RunStopped(ConvragError):
    """The run must stop, say at a cost limit. Finished turns are kept, and the current one does not count as failed."""


class LLMError(ConvragError):
    """A language model gave no usable reply. A stage with an honest fallback takes it; another lets it through.

    Args:
        message: what went wrong, without keys.
        provider: of the model.
        model: as the provider names it.
        status: of the HTTP response, where there was one.

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


def is_installed(module: str) -> bool:
    """Whether a module could be imported; of a dotted name, the packages above it are imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # there is no package above it
        return False


def missing_extra(requires: Mapping[str, str], needed_by: str) -> MissingExtra | None:
    """What to say of modules that are not installed; None where all are.

    Args:
        requires: module -> what to install for it (see `Stage.requires`).
        needed_by: who needs them ("llm=litellm").
    """
    absent = [module for module in requires if not is_installed(module)]
    if not absent:
        return None
    return MissingExtra(
        " and ".join(absent), " ".join(dict.fromkeys(requires[each] for each in absent)), needed_by
    )


def locate_error(error: BaseException, packages: Collection[str]) -> str:
    """Return the place where an error was raised ("/site/acme/rewriter.py, line 12"); empty where
    that is not known.

    It is the innermost line of these packages, or of all code where no line of theirs was reached:
    an error that shows in a library is the plugin's that called it.

    Args:
        error: with its traceback.
        packages: top-level names of modules.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return _format_place(error.filename, error.lineno)
    reached = [
        (frame.f_globals.get("__name__", ""), frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    theirs = [place for place in reached if str(place[0]).partition(".")[0] in packages]
    return _format_place(*(theirs or reached)[-1][1:]) if reached else ""


def describe_fault(error: Exception, cls: type, method: str) -> str:
    """Describe what a method of a plugin's class raised: the plugin's class, the error, its file
    and its line.

    A ConvragError is meant for the user, so it is described by its message alone.
    """
    if isinstance(error, ConvragError):
        return str(error)
    place = f" ({found})" if (found := locate_error(error, {find_package(cls)})) else ""
    raised = f"{cls.__module__}.{cls.__qualname__}.{method} raised {type(error).__name__}: {error}"
    return f"this should not have happened: {raised}{place}"


def locate_function(function: Callable[..., Any]) -> str:
    """Return the place where a function begins; empty where it has no Python code, or none that
    somebody wrote.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code.co_filename.startswith("<"):  # the constructor of a dataclass is made
        return ""
    return _format_place(code.co_filename, code.co_firstlineno)


def find_package(thing: object) -> str:
    """Return the top-level name of a module: of its name, or of that which a class, function or
    object is from.
    """
    module = (
        thing
        if isinstance(thing, str)
        else getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    )
    return str(module).partition(".")[0]


def _format_place(file: str, line: int | None) -> str:
    return f"{file}, line {line}" if line else file
