"""What can be chosen: every option of every group, who brought it, and what failed to load."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from convrag.api.errors import PluginError, UnknownName
from convrag.api.groups import GROUPS, options_group
from convrag.registry.option import Option


class Registry:
    """The options by group and name. Two distributions that claim one name make it unusable, not the other names."""

    def __init__(self) -> None:
        self.failures: list[PluginError] = []
        self._options: dict[tuple[str, str], Option] = {}
        self._conflicts: dict[tuple[str, str], PluginError] = {}

    def add(self, option: Option) -> None:
        """Register an option.

        Raises:
            PluginError: it is no stage of its group, or its name is taken. Its signature is read when it is chosen.
        """
        _check(option)
        key = (option.group, option.name)
        if holder := self._options.get(key):
            raise self.add_conflict(*key, holder.distribution, option.distribution)
        self._options[key] = option

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> PluginError:
        """Note that two distributions claim a name: choosing it is an error from now on, the one returned."""
        cure = f"Uninstall one, or leave it out: CONVRAG_DISABLE_PLUGINS={distribution}"
        if distribution.endswith(".py"):
            cure = f"Choose another name in {distribution}."
        self._conflicts[group, name] = PluginError(
            f"{group}={name} is claimed by two distributions, {holder} and {distribution}. {cure}",
            plugin=name,
            distribution=distribution,
        )
        return self._conflicts[group, name]

    def remove(self, distribution: str) -> None:
        """Take back what a distribution has registered."""
        self._options = {key: each for key, each in self._options.items() if each.distribution != distribution}

    def get(self, group: str, name: str) -> Option:
        """The option of that name.

        Raises:
            UnknownName: there is none; the message lists the choices, and the plugins that failed to load.
            PluginError: two distributions claim it.
        """
        self.check_name(group, name)
        key = (options_group(group), name)
        if key not in self._options:
            raise UnknownName(group, name, self.options(group), hints=[str(failure) for failure in self.failures])
        return self._options[key]

    def check_name(self, group: str, name: str) -> None:
        """Raise PluginError where two distributions claim the name, be it as an option or as a YAML file."""
        if error := self._conflicts.get((options_group(group), name)):
            raise error

    def options(self, group: str) -> Mapping[str, Option]:
        """The options of a group by name, in alphabetical order."""
        offered = options_group(group)
        return {name: option for (of, name), option in sorted(self._options.items()) if of == offered}

    def injected_groups(self, group: str) -> Mapping[str, str]:
        """The parameters of a group's options that are stages: name -> the group of the stage."""
        found: dict[str, str] = {}
        for option in self.options(group).values():
            found |= {name: parameter.group for name, parameter in option.parameters.items() if parameter.group}
        return found


def _check(option: Option) -> None:
    where = f"plugin {option.plugin!r} of {option.distribution} cannot register {option.group}={option.name}"

    def refuse(why: str) -> PluginError:
        return PluginError(f"{where}: {why}", plugin=option.plugin, distribution=option.distribution)

    if option.group not in GROUPS or option.group != options_group(option.group):
        groups = ", ".join(group for group in GROUPS if group == options_group(group))
        raise refuse(f"there is no such group; choose from {groups}")
    if not option.name.replace("-", "_").isidentifier():
        raise refuse("a name has letters, digits, underscores and hyphens, and does not begin with a digit")
    expected = GROUPS[option.group]
    if not (inspect.isclass(option.cls) and issubclass(option.cls, expected)):
        raise refuse(f"{option.cls!r} is no subclass of convrag.{expected.__name__}")
    if (wrong := _not_requirable(option.cls.requires)) is not None:
        raise refuse(f'{wrong} in requires is no module and what to install for it: {{"torch": "acme[gpu]"}}')
    if missing := sorted(getattr(option.cls, "__abstractmethods__", ())):
        raise refuse(f"{option.cls.__name__} lacks the method {missing[0]}")


def _not_requirable(requires: object) -> object:
    """What cannot stand in `Stage.requires`; None where all can. Modules are named as they are imported."""
    if not isinstance(requires, Mapping):
        return repr(requires)
    for module, install in requires.items():
        if not isinstance(install, str) or not all(part.isidentifier() for part in str(module).split(".")):
            return repr(module)
    return None
