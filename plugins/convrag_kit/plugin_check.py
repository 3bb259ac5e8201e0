"""Runs the contracts of convrag.testing against the options of an installed plugin."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, NamedTuple
from unittest import SkipTest, mock

from convrag import ConvragError, LLMError, UnknownName
from convrag.sdk.groups import GROUPS, SEVERAL
from convrag.sdk.tasks.configuration import compose_command, compose_from_command
from convrag.sdk.tasks.options import Option, plugins, variants_of
from convrag.sdk.tasks.turns import Wiring
from convrag_kit.inventory import list_groups

Outcome = Literal["passed", "failed", "not run"]


class Result(NamedTuple):
    """The result of one check.

    Args:
        outcome: "passed", "failed" or "not run".
        check: what was checked: "it is deterministic".
        message: why it failed or was not run.
    """

    outcome: Outcome
    check: str
    message: str = ""


@dataclass(frozen=True)
class CheckedOption:
    """The results of an option's checks.

    Args:
        choice: the option: "rewriter=acme_topic".
        results: in the order of the checks.
    """

    choice: str
    results: list[Result]

    def count(self, outcome: Outcome) -> int:
        """Count the results with this outcome."""
        return sum(result.outcome == outcome for result in self.results)


def find_options(package: str, stage: str | None = None) -> list[Option]:
    """Find the options that a plugin registers.

    Args:
        package: the name of a distribution, of an entry point or of a Python package.
        stage: only the options of this group.

    Raises:
        UnknownName: no installed plugin has the name.
    """
    loaded = plugins.load().registry
    options = [each for group in list_groups() for each in loaded.options(group).values()]
    failures = {name for each in loaded.failures for name in (each.plugin, each.distribution)}
    known = {name for option in options for name in _list_names(option)} | failures
    if package not in known:
        distributions = {option.distribution for option in options}
        raise UnknownName("task.check: plugin", package, sorted(distributions | failures))
    found = [option for option in options if package in _list_names(option)]
    return [option for option in found if stage in (None, option.group)]


def _list_names(option: Option) -> set[str]:
    """List the names of an option's plugin: distribution, entry point and Python package."""
    return {option.distribution, option.plugin, option.path.partition(":")[0].partition(".")[0]}


def list_load_failures(package: str) -> list[str]:
    """List what failed when the plugin was loaded."""
    failures = plugins.load().registry.failures
    return [str(each) for each in failures if package in (each.plugin, each.distribution)]


def check_option(option: Option, overrides: Iterable[str] = ()) -> CheckedOption:
    """Run the contract of an option's stage.

    The option is built as the command would build it: with its defaults, and with what the command
    line sets.

    Args:
        option: the option.
        overrides: more overrides of the configuration.
    """
    choice = f"{option.group}={option.name}"
    make_contract = _ContractMaker(option.group, option.name, tuple(overrides))
    try:
        contract = make_contract()
        problems = list(contract.make().check())
    except ConvragError as error:
        problems = [str(error)]
    if problems:
        return CheckedOption(choice, [Result("not run", "it can be used", "; ".join(problems))])
    results = [_check_summary(option)]
    results += [_run_check(getattr(contract, name)) for name in _list_checks(contract)]
    results += [_check_variant(option, name) for name in _list_variants(option)]
    return CheckedOption(choice, results)


def _list_checks(contract: Any) -> list[str]:
    """List the names of a contract's tests, those of all stages first."""
    names = []
    for cls in reversed(type(contract).__mro__):
        names += [name for name in vars(cls) if name.startswith("test_") and name not in names]
    return names


def _run_check(test: Callable[[], None]) -> Result:
    """Run one test of a contract."""
    check = test.__name__.removeprefix("test_").replace("_", " ")
    try:
        test()
    except SkipTest as reason:
        return Result("not run", check, str(reason))
    except LLMError as error:
        advice = "it asks a language model: add llm=..., or test it with RecordedLLM"
        return Result("not run", check, f"{error} ({advice})")
    except AssertionError as error:
        return Result("failed", check, str(error) or _quote_line(error))
    except Exception as error:  # a plugin's own
        return Result("failed", check, f"{type(error).__name__}: {error} ({_quote_line(error)})")
    return Result("passed", check)


def _quote_line(error: BaseException) -> str:
    """Quote the line that raised an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.line} in {last.filename}, line {last.lineno}"


def _check_summary(option: Option) -> Result:
    """Check that the line of --help is the first one of the class's docstring."""
    check = "its line of help is the first line of its docstring"
    first = (inspect.getdoc(option.cls) or "").partition("\n")[0]
    if option.help in ("", first):
        return Result("passed", check)
    return Result("failed", check, f"registered: {option.help!r}; docstring: {first!r}")


def _list_variants(option: Option) -> list[str]:
    """List the plugin's own variants of an option."""
    listed = variants_of(option.group)
    own = [each for each in listed if each.distribution == option.distribution]
    return [each.name for each in own if each.extends == option.name]


def _check_variant(option: Option, name: str) -> Result:
    """Check that a variant can be composed."""
    check = f"its variant {name} can be chosen"
    try:
        _compose(option.group, name, ())
    except ConvragError as error:
        return Result("failed", check, str(error))
    return Result("passed", check)


def _compose(group: str, name: str, overrides: tuple[str, ...]) -> Wiring:
    """Compose a configuration that chooses an option. Raises ConvragError."""
    if group == "task":  # the command's own task and its parameters are in the way
        return Wiring(*compose_command(*overrides, f"task={name}"))
    chosen = f"{group}=[{name}]" if group in SEVERAL else f"{group}={name}"
    return Wiring(*compose_from_command(*overrides, chosen))


class _ContractMaker:
    """Makes the contract of an installed option; a new process makes it again from its arguments.

    Args:
        group: the option's group.
        name: the option's name.
        overrides: more overrides of the configuration.
    """

    def __init__(self, group: str, name: str, overrides: tuple[str, ...]) -> None:
        self.group = group
        self.name = name
        self.overrides = overrides

    def __call__(self) -> Any:
        """Return a contract whose `make` builds the option. Raises ConvragError."""
        option = plugins.load().registry.get(self.group, self.name)
        arguments = _find_arguments(option, self.overrides)
        base = getattr(import_module("convrag.testing"), f"{GROUPS[self.group].__name__}Contract")
        members = {
            "__module__": __name__,
            "make": lambda contract: option.cls(**arguments),
            "__reduce__": lambda contract: (_rebuild, (self,)),
        }
        return type(f"{option.cls.__name__}Check", (base,), members)()


def _rebuild(make_contract: _ContractMaker) -> Any:
    """Make a contract again in a new process."""
    return make_contract()


def _find_arguments(option: Option, overrides: tuple[str, ...]) -> dict[str, Any]:
    """Find the arguments with which the command builds an option. Raises ConvragError."""
    wiring = _compose(option.group, option.name, overrides)
    cls = option.cls
    constructor = cls.__init__
    calls: list[dict[str, Any]] = []

    def record_call(stage: Any, /, *arguments: Any, **named: Any) -> None:
        if type(stage) is cls:
            bound = inspect.signature(constructor).bind(stage, *arguments, **named)
            calls.append({key: value for key, value in bound.arguments.items() if key != "self"})
        constructor(stage, *arguments, **named)

    with mock.patch.object(cls, "__init__", record_call):
        if option.group in SEVERAL:
            wiring.get_all(option.group)
        else:
            wiring.get(option.group)
    if not calls:
        raise ConvragError(f"{option.group}={option.name} was built before its check")
    return calls[-1]
