"""What can be chosen: every option of every group, who brought it, what it is in words, and what
failed to load.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from convrag.api.errors import PluginError, UnknownName
from convrag.api.groups import GROUPS, options_group
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter, read_argument_texts, union_members
from convrag.registry.source import WrongPath, check_path, is_imported


class Registry:
    """The options by group and name. Two distributions that claim one name make it unusable, not
    the other names.
    """

    def __init__(self) -> None:
        self.failures: list[PluginError] = []
        self._options: dict[tuple[str, str], Option] = {}
        self._unusable: dict[tuple[str, str], PluginError] = {}

    def add(self, option: Option) -> None:
        """Register an option. The class of a path is looked for in its source, and imported when it
        is chosen.

        Raises:
            PluginError: it is no stage of its group, its path leads nowhere, or its name is taken.
                Choosing that name is the same error from now on.
        """
        groups = [group for group in GROUPS if group == options_group(group)]
        if option.group not in groups:
            raise option.refusal(f"there is no such group; choose from {', '.join(groups)}")
        if not option.name.replace("-", "_").isidentifier():
            raise option.refusal(
                "a name has letters, digits, underscores and hyphens, and does not begin with a digit"
            )
        key = (option.group, option.name)
        try:
            _check_class(option)
        except PluginError as error:
            if key not in self._options:
                self._unusable.setdefault(key, error)
            raise
        if holder := self._options.get(key):
            raise self.add_conflict(*key, holder.distribution, option.distribution)
        self._options[key] = option
        self._unusable.pop(key, None)

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> PluginError:
        """Note that two distributions claim a name: choosing it is an error from now on, the one
        returned.
        """
        cure = f"Uninstall one, or leave it out: CONVRAG_DISABLE_PLUGINS={distribution}"
        if distribution.endswith(".py"):
            cure = f"Choose another name in {distribution}."
        self._unusable[group, name] = PluginError(
            f"{group}={name} is claimed by two distributions, {holder} and {distribution}. {cure}",
            plugin=name,
            distribution=distribution,
        )
        return self._unusable[group, name]

    def remove(self, distribution: str) -> None:
        """Take back what a distribution has registered, and what was wrong with it."""
        self._options = {
            key: each for key, each in self._options.items() if each.distribution != distribution
        }
        self._unusable = {
            key: each for key, each in self._unusable.items() if each.distribution != distribution
        }
        self.failures[:] = [each for each in self.failures if each.distribution != distribution]

    def get(self, group: str, name: str) -> Option:
        """The option of that name.

        Raises:
            UnknownName: there is none; the message lists the choices, and the plugins that failed
                to load.
            PluginError: two distributions claim it, or what was registered cannot be an option.
        """
        self.check_name(group, name)
        key = (options_group(group), name)
        if key not in self._options:
            raise self.make_unknown(group, name, self.options(group))
        return self._options[key]

    def make_unknown(self, group: str, name: str, offered: Iterable[str]) -> UnknownName:
        """Make the error for a name that none of those offered is; names that cannot be chosen are
        not offered in it.

        It adds which plugins failed, since the name may be one of theirs, but nothing that concerns
        other names alone.
        """
        choices = [each for each in offered if (options_group(group), each) not in self._unusable]
        others = {str(error) for error in self._unusable.values()}
        hints = dict.fromkeys(
            str(failure) for failure in self.failures if str(failure) not in others
        )
        return UnknownName(group, name, choices, hints=hints)

    def check_name(self, group: str, name: str) -> None:
        """Raise PluginError where the name cannot be chosen: two claim it, or what was registered
        is no option.
        """
        if error := self._unusable.get((options_group(group), name)):
            raise error

    def options(self, group: str) -> Mapping[str, Option]:
        """The options of a group by name, in alphabetical order."""
        offered = options_group(group)
        return {
            name: option for (of, name), option in sorted(self._options.items()) if of == offered
        }

    def injected_groups(self, group: str) -> Mapping[str, str]:
        """The parameters of a group's options that are stages: name -> the group of the stage."""
        found: dict[str, str] = {}
        for option in self.options(group).values():
            found |= option.injected_groups()
        return found


def _check_class(option: Option) -> None:
    """Raise PluginError for a class that the group cannot offer, or for a path that leads nowhere."""
    if not isinstance(option.target, str) or is_imported(option.target):
        _ = option.cls
        return
    try:
        check_path(option.target)
    except WrongPath as error:
        raise option.refusal(f"{option.target} leads nowhere: {error}") from error


@dataclass(frozen=True)
class ParameterText:
    """A parameter in words: its type ("int", "oldest | newest", "llm stage"), its default ("3",
    "required").
    """

    name: str
    type: str
    default: str
    help: str
    operational: bool = False


@dataclass(frozen=True)
class OptionText:
    """What docstring and signature of an option's class say; parameters that the kernel fills in
    are left out.
    """

    summary: str
    details: str
    parameters: tuple[ParameterText, ...]


def describe_option(option: Option) -> OptionText:
    """Read an option's class. Raises ConfigError where an annotation cannot be resolved."""
    from docstring_parser import parse  # tells of options alone; a start does without

    parsed = parse(inspect.getdoc(option.cls) or "")
    told = read_argument_texts(option.cls)
    return OptionText(
        parsed.short_description or "",
        parsed.long_description or "",
        tuple(
            ParameterText(
                name,
                _type(parameter),
                _default(parameter),
                told.get(name, ""),
                parameter.operational,
            )
            for name, parameter in option.parameters.items()
            if not parameter.injects_store
        ),
    )


def _type(parameter: Parameter) -> str:
    if parameter.group:
        return f"{parameter.group} stage"
    if get_origin(parameter.type) is Literal:
        return " | ".join(str(choice) for choice in get_args(parameter.type))
    return " | ".join(_type_name(member) for member in union_members(parameter.type))


def _type_name(annotation: Any) -> str:
    """A type without the modules of its names: `list[Path]`."""
    if annotation is type(None):
        return "None"
    name = (
        annotation.__name__
        if inspect.isclass(annotation) and not get_args(annotation)
        else str(annotation)
    )
    return re.sub(r"\b(?:\w+\.)+", "", name)


def _default(parameter: Parameter) -> str:
    if parameter.group and not parameter.used_option:
        return "none" if parameter.default is None else "the run's"
    return "required" if parameter.default is Parameter.default else str(parameter.default)
