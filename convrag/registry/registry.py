"""The options of every group by name, and the plugins that failed to load."""

from collections.abc import Iterable, Mapping

from convrag.api.errors import PluginError, UnknownName
from convrag.api.groups import GROUPS, options_group
from convrag.registry.option import Option


class Registry:
    """The options by group and name.

    Where two distributions claim one name, that name is unusable, and the others are not.
    """

    def __init__(self) -> None:
        self.failures: list[PluginError] = []
        self._options: dict[tuple[str, str], Option] = {}
        self._unusable: dict[tuple[str, str], PluginError] = {}

    def add(self, option: Option) -> None:
        """Register an option. The class of a path is imported when somebody chooses it.

        Raises:
            PluginError: the class is not a stage of the group, the path is not written as one, or
                the name is taken. Choosing that name is the same error from now on.
        """
        groups = [group for group in GROUPS if group == options_group(group)]
        if option.group not in groups:
            raise option.refusal(f"there is no such group; choose from {', '.join(groups)}")
        if not option.name.replace("-", "_").isidentifier():
            raise option.refusal(
                "a name has letters, digits, underscores and hyphens, and does not begin with a "
                "digit"
            )
        key = (option.group, option.name)
        try:
            option.check_path()
            if not isinstance(option.target, str):
                _ = option.cls  # raises where it is not a stage of the group
        except PluginError as error:
            if key not in self._options:
                self._unusable.setdefault(key, error)
            raise
        if holder := self._options.get(key):
            raise self.add_conflict(*key, holder.distribution, option.distribution)
        self._options[key] = option
        self._unusable.pop(key, None)

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> PluginError:
        """Note that two distributions claim a name, and return the error of choosing it."""
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
        """Remove the options of a distribution, and its errors."""
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
        """Make the error for a name that is not offered; it lists the names that can be chosen.

        It adds which plugins failed, since the name may be one of theirs. Failures that concern
        only other names are left out.
        """
        choices = [each for each in offered if (options_group(group), each) not in self._unusable]
        others = {str(error) for error in self._unusable.values()}
        hints = dict.fromkeys(
            str(failure) for failure in self.failures if str(failure) not in others
        )
        return UnknownName(group, name, choices, hints=hints)

    def check_name(self, group: str, name: str) -> None:
        """Raise PluginError where two plugins claim the name, or its class cannot be an option."""
        error = self._unusable.get((options_group(group), name))
        if error is not None:
            raise error

    def options(self, group: str) -> Mapping[str, Option]:
        """Return the options of a group by name, in alphabetical order."""
        offered = options_group(group)
        return {
            name: option
            for (own_group, name), option in sorted(self._options.items())
            if own_group == offered
        }
