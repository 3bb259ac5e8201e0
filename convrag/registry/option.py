"""An option: a class that a group offers under a name, with the parameters of its constructor."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from convrag.api.errors import (
    ConfigError,
    ConvragError,
    MissingExtra,
    PluginError,
    UnknownName,
    find_package,
    is_installed,
    locate_function,
    missing_extra,
)
from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.stage import Stage
from convrag.api.stages import Task
from convrag.concurrency.exits import is_failure
from convrag.registry.importing import describe_cause, find_install, redirect_prints
from convrag.registry.origin import FIRST_PARTY
from convrag.registry.parameters import Parameter, Use, read_argument_texts, read_parameters
from convrag.registry.schema import make_schema, plain_value
from convrag.registry.values import check_value


@dataclass(frozen=True)
class Option:
    """A class that a group offers under a name, and the distribution that brought it.

    Args:
        group: the group ("rewriter").
        name: the option's name ("dhrag").
        target: a class, or the path of one ("acme.rewriter:TopicRewriter"), imported at the first
            use of `cls`.
        plugin: the entry point that registered it.
        distribution: the distribution of that entry point.
        version: the distribution's version.
        defaults: parameter -> default, in place of the signature's (a variant of the class).
        summary: the line that help shows; unless given, the first line of the class's docstring.
    """

    group: str
    name: str
    target: type[Stage] | str
    plugin: str
    distribution: str
    version: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    summary: str = ""

    @cached_property
    def cls(self) -> type[Stage]:
        """The class, imported where its path was registered.

        Raises:
            MissingExtra: its module imports a library that its distribution, or ours, requires in
                an extra, and that is not installed.
            PluginError: it cannot be imported for another reason, or is not a stage of the group.
        """
        cls = self._import(self.target) if isinstance(self.target, str) else self.target
        stage = GROUPS[self.group]
        if not (inspect.isclass(cls) and issubclass(cls, stage)):
            raise self.refusal(f"{cls!r} is no subclass of convrag.{stage.__name__}")
        missing_methods = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing_methods:
            raise self.refusal(f"{cls.__name__} lacks the method {missing_methods[0]}")
        return cls

    @cached_property
    def help(self) -> str:
        """The summary, followed by the values of a variant; or why the class cannot be imported.

        Only an option that was registered without a summary imports its class for this.
        """
        try:
            line = self.summary or self.docstring_summary
        except ConvragError as error:
            return str(error).partition("\n")[0]
        if not self.defaults:
            return line
        values = ", ".join(f"{name}={value}" for name, value in self.defaults.items())
        return f"{line} ({values})".strip()

    @property
    def docstring_summary(self) -> str:
        """The first line of the class's docstring. Raises PluginError as `cls` does."""
        return (inspect.getdoc(self.cls) or "").partition("\n")[0]

    @property
    def path(self) -> str:
        """The module and the class: "acme.rewriter:TopicRewriter"."""
        if isinstance(self.target, str):
            return self.target
        return f"{self.target.__module__}:{self.target.__qualname__}"

    @property
    def file(self) -> str:
        """The file of the class; empty where it has none, or cannot be imported."""
        try:
            return inspect.getfile(self.cls)
        except (ConvragError, TypeError, OSError):
            return ""

    def missing_extra(self, place: str = "") -> MissingExtra | None:
        """The error that names required modules which are not installed; None where all are.

        Args:
            place: where the option was chosen ("rewriter.embedder"); its group unless given.
        """
        return missing_extra(self.cls.requires, f"{place or self.group}={self.name}")

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The constructor's parameters by name.

        Raises:
            ConfigError: an annotation cannot be resolved.
            PluginError: the class cannot be imported, or a default has the wrong type.
        """
        parameters = read_parameters(self.cls)
        for parameter in parameters.values():
            self._check_default(parameter)
        for name, value in self.defaults.items():
            if name not in parameters:
                raise self.refusal(str(UnknownName("parameter", name, parameters)))
            value = self._check_variant_default(parameters[name], value)
            parameters[name] = replace(parameters[name], default=value)
        return parameters

    @property
    def configurable(self) -> list[str]:
        """The names of the parameters that a configuration can have. Raises as `parameters`."""
        return [name for name, parameter in self.parameters.items() if not parameter.injects_store]

    def list_parameters(self) -> list[str]:
        """Return the names of the configurable parameters; none of an unusable class."""
        parameters = self._parameters_if_usable().values()
        return [each.name for each in parameters if not each.injects_store]

    def injected_groups(self) -> dict[str, str]:
        """Return the parameters that are stages, name -> group; none of an unusable class."""
        parameters = self._parameters_if_usable().values()
        return {each.name: each.group for each in parameters if each.group}

    def list_groups_of_run(self) -> list[str]:
        """Return the groups whose stage this option gets from the run; none if unusable."""
        groups = []
        for parameter in self._parameters_if_usable().values():
            has_default = parameter.used_option or parameter.default is None
            if parameter.group and not has_default:
                groups.append(parameter.group)
        return groups

    def list_used_options(self) -> list[tuple[str, str]]:
        """Return the group and the name of each option that this one has by default."""
        parameters = self._parameters_if_usable().values()
        return [(each.group, each.used_option) for each in parameters if each.used_option]

    def _parameters_if_usable(self) -> Mapping[str, Parameter]:
        """Return the parameters; none where the class cannot be imported, or its signature read."""
        try:
            return self.parameters
        except ConvragError:
            return {}

    @cached_property
    def schema(self) -> type:
        """A dataclass for Hydra's ConfigStore: the parameters with the signature's defaults."""
        title = f"{self.cls.__name__}Options"
        return make_schema(title, self.name, self.parameters.values(), self._facts())

    def _facts(self) -> dict[str, str]:
        """Return what the defaults list of conf/config.yaml learns from this option's class."""
        if issubclass(self.cls, Task):
            return {"default_generator": self.cls.default_generator}
        return {}

    def values(self, config: Mapping[str, Any], place: str, typed: str = "") -> dict[str, Any]:
        """Check configured values and turn them into what the constructor takes; injected stages
        are left out.

        Args:
            config: parameter -> plain value.
            place: where they stand ("rewriter"), for messages.
            typed: the name by which the option was chosen ("claude"), if another than its own.

        Raises:
            ConfigError: an unknown parameter, a missing or an impossible value.
        """
        unknown = [name for name in config if name not in self.parameters and name != OPTION_KEY]
        if unknown:
            subject = f"{place}={typed or self.name}: parameter"
            raise UnknownName(subject, unknown[0], self.configurable)
        values = {}
        for name in self.configurable:
            parameter = self.parameters[name]
            if parameter.group:
                continue
            value = config.get(name, "???" if parameter.required else parameter.default)
            if value == "???":
                choice = f"{place}={typed or self.name}"
                raise ConfigError(f"{choice} needs {place}.{name}=...{self._describe(name)}")
            values[name] = check_value(value, parameter, f"{place}.{name}")
        return values

    def _describe(self, name: str) -> str:
        """Return what the docstring says about a parameter, and about the class, which says where
        its data comes from.
        """
        text = read_argument_texts(self.cls).get(name, "")
        return f", {text} ({self.docstring_summary})" if text else ""

    def refusal(self, reason: str) -> PluginError:
        """Make the error that says why this cannot be an option."""
        subject = f"plugin {self.plugin!r} of {self.distribution}"
        return PluginError(
            f"{subject} cannot register {self.group}={self.name}: {reason}",
            plugin=self.plugin,
            distribution=self.distribution,
        )

    def check_path(self) -> None:
        """Raise PluginError where the target is not written "package.module:Class".

        Whether there is such a class turns out when it is imported.
        """
        if not isinstance(self.target, str):
            return
        module, _, name = self.target.partition(":")
        names = [*module.split("."), name]
        if not all(each.isidentifier() for each in names):
            problem = 'a path is written "package.module:Class"'
            raise self.refusal(f"{self.target!r} is not the path of a class: {problem}")

    def _import(self, target: str) -> Any:
        module, _, name = target.partition(":")
        try:
            with redirect_prints():
                return getattr(import_module(module), name)
        except BaseException as error:
            if not is_failure(error):
                raise
            missing = self._find_missing_extra(error)
            if missing:
                raise missing from error
            cause = describe_cause(error, module)
            raise self.refusal(f"{target} cannot be imported ({cause})") from error

    def _find_missing_extra(self, error: BaseException) -> MissingExtra | None:
        """Return the error that says what to install; None where the import failed otherwise."""
        if not isinstance(error, ModuleNotFoundError) or not error.name:
            return None
        library = find_package(error.name)
        if is_installed(library):  # it lacks a module, so that installing it changes nothing
            return None
        install = find_install(library, [self.distribution, FIRST_PARTY])
        return MissingExtra(library, install, f"{self.group}={self.name}") if install else None

    def _check_default(self, parameter: Parameter) -> None:
        """Raise PluginError for a default in the signature without the annotated type."""
        if parameter.required or parameter.group or parameter.injects_store:
            return
        try:
            check_value(plain_value(parameter.default), parameter, parameter.name)
        except ConfigError as error:
            place = locate_function(self.cls.__init__) or self.file
            raise self.refusal(f"the default of {error} ({place})") from error

    def _check_variant_default(self, parameter: Parameter, value: Any) -> Any:
        """Return a variant's default. Raises PluginError for one that the parameter cannot have."""
        if parameter.injects_store:
            raise self.refusal(f"{parameter.name} is given by convrag, and has no default")
        if parameter.group:
            if isinstance(value, Use) or (value is None and parameter.optional):
                return value
            advice = f'{parameter.name} is a stage, and its default is written use("...")'
            raise self.refusal(advice)
        try:
            check_value(value, parameter, parameter.name)
        except ConfigError as error:
            raise self.refusal(str(error)) from error
        return value
