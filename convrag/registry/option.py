"""An option: a class that a group offers under a name, with the parameters of its constructor."""

import inspect
import sys
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any

from convrag.api.errors import (
    ConfigError,
    ConvragError,
    MissingExtra,
    PluginError,
    UnknownName,
    find_package,
    locate_error,
    locate_function,
    missing_extra,
)
from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.api.stage import Stage
from convrag.registry.parameters import Parameter, Use, read_argument_texts, read_parameters
from convrag.registry.schema import check_value, make_schema, plain_value
from convrag.registry.source import ClassSource, WrongPath, find_class, is_imported, read_summary


@dataclass(frozen=True)
class Option:
    """What a group offers under a name, and the distribution that brought it.

    Args:
        group: the group ("rewriter").
        name: the option's name ("dhrag").
        target: a class, or the path of one ("acme.rewriter:TopicRewriter"), imported at the first
            use of `cls`.
        plugin: the entry point that registered it.
        distribution: whose entry point that is.
        version: of the distribution.
        defaults: parameter -> default, in place of what the signature says (a variant of the
            class).
    """

    group: str
    name: str
    target: type[Stage] | str
    plugin: str
    distribution: str
    version: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def cls(self) -> type[Stage]:
        """The class, imported where its path was registered.

        Raises:
            PluginError: it cannot be imported, or is no stage of the group.
            MissingExtra: a module that it requires is not installed.
        """
        cls = self._import() if isinstance(self.target, str) else self.target
        stage = GROUPS[self.group]
        if not (inspect.isclass(cls) and issubclass(cls, stage)):
            raise self.refusal(f"{cls!r} is no subclass of convrag.{stage.__name__}")
        if missing := sorted(getattr(cls, "__abstractmethods__", ())):
            raise self.refusal(f"{cls.__name__} lacks the method {missing[0]}")
        return cls

    @cached_property
    def help(self) -> str:
        """The first line of the class's docstring, and the values that a variant has; or why it
        cannot be used.
        """
        unread = isinstance(self.target, str) and not is_imported(self.target)
        line = read_summary(str(self.target)) if unread else None
        try:
            line = (inspect.getdoc(self.cls) or "").partition("\n")[0] if line is None else line
        except ConvragError as error:
            return str(error).partition("\n")[0]
        values = ", ".join(f"{name}={value}" for name, value in self.defaults.items())
        return f"{line} ({values})".strip() if values else line

    @cached_property
    def requires(self) -> Mapping[str, str]:
        """The modules that the class requires -> what to install for each (see `Stage.requires`)."""
        stated = self._source.requires if self._source else None
        return self.cls.requires if stated is None else stated

    @property
    def path(self) -> str:
        """The module and the class: "acme.rewriter:TopicRewriter"."""
        return (
            self.target
            if isinstance(self.target, str)
            else f"{self.target.__module__}:{self.target.__qualname__}"
        )

    @property
    def file(self) -> str:
        """The file that has the class; empty where it has none, or cannot be found."""
        if self._source:
            return self._source.file
        try:
            return inspect.getfile(self.cls)
        except (ConvragError, TypeError, OSError):
            return ""

    def missing_extra(self, place: str = "") -> MissingExtra | None:
        """Which of the modules that the class requires are not installed; `place` is where it was
        chosen.
        """
        return missing_extra(self.requires, f"{place or self.group}={self.name}")

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The constructor's parameters by name.

        Raises ConfigError where an annotation cannot be resolved, PluginError for defaults that
        cannot be.
        """
        parameters = read_parameters(self.cls)
        for parameter in parameters.values():
            self._check_default(parameter)
        for name, value in self.defaults.items():
            if name not in parameters:
                raise self.refusal(str(UnknownName("parameter", name, parameters)))
            parameters[name] = replace(
                parameters[name], default=self._checked(parameters[name], value)
            )
        return parameters

    @property
    def source_parameters(self) -> Mapping[str, Parameter] | None:
        """The constructor's parameters as they are written; None where only importing the class can
        tell.
        """
        return self._source.parameters if self._source else None

    def list_parameters(self) -> list[str]:
        """The names of the configurable parameters, without an import where that is possible.
        Raises nothing.
        """
        return [
            name
            for name, parameter in self._any_parameters().items()
            if not parameter.injects_store
        ]

    def injected_groups(self) -> dict[str, str]:
        """The parameters that are stages, name -> group, without an import where that is possible.
        Raises nothing.
        """
        return {
            name: parameter.group
            for name, parameter in self._any_parameters().items()
            if parameter.group
        }

    def list_groups_of_run(self) -> list[str]:
        """The groups whose stage this option is given, read like `injected_groups`."""
        parameters = self._any_parameters().values()
        return [
            each.group
            for each in parameters
            if each.group and not each.used_option and each.default is not None
        ]

    def list_used_options(self) -> list[tuple[str, str]]:
        """The group and the name of each option that this one has by default, read like
        `injected_groups`.
        """
        given = (
            (each.group, self.defaults.get(each.name, each.default))
            for each in self._any_parameters().values()
        )
        return [(group, default.option) for group, default in given if isinstance(default, Use)]

    def _any_parameters(self) -> Mapping[str, Parameter]:
        """The parameters as the source has them, or as the imported class has; none where it cannot
        be imported.
        """
        written = self.source_parameters
        if written is not None and all(parameter.known for parameter in written.values()):
            return written
        try:
            return self.parameters
        except ConvragError:
            return {}

    @cached_property
    def schema(self) -> type:
        """A dataclass for Hydra's ConfigStore: typed and defaulted as in the signature."""
        return make_schema(f"{self.cls.__name__}Options", self.name, self.parameters.values())

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
        if unknown := [
            name for name in config if name not in self.parameters and name != OPTION_KEY
        ]:
            raise UnknownName(
                f"{place}={typed or self.name}: parameter", unknown[0], self.configurable
            )
        values = {}
        for name in self.configurable:
            parameter = self.parameters[name]
            if parameter.group:
                continue
            value = config.get(name, "???" if parameter.required else parameter.default)
            if value == "???":
                raise ConfigError(
                    f"{place}={typed or self.name} needs {place}.{name}=...{self._tell_about(name)}"
                )
            values[name] = check_value(value, parameter, f"{place}.{name}")
        return values

    @property
    def configurable(self) -> list[str]:
        """The names of the parameters that can be given in a configuration."""
        return [name for name, parameter in self.parameters.items() if not parameter.injects_store]

    def _tell_about(self, name: str) -> str:
        """What the docstring says of a parameter, and of the class: where its data comes from
        stands there.
        """
        said = read_argument_texts(self.cls).get(name, "")
        return (
            f", {said} ({(inspect.getdoc(self.cls) or '').partition(chr(10))[0]})" if said else ""
        )

    def refusal(self, reason: str) -> PluginError:
        """The error that says why this cannot be an option."""
        return PluginError(
            f"plugin {self.plugin!r} of {self.distribution} cannot register {self.group}={self.name}: {reason}",
            plugin=self.plugin,
            distribution=self.distribution,
        )

    @cached_property
    def _source(self) -> ClassSource | None:
        """The source of a class that is not imported yet; None where it cannot be found."""
        if not isinstance(self.target, str) or is_imported(self.target):
            return None
        try:
            return find_class(self.target)
        except WrongPath:
            return None

    def _import(self) -> Any:
        module, _, name = str(self.target).partition(":")
        try:
            # The output belongs to the task: JSON, say, or a protocol. Two threads that swap it do
            # not put it back.
            with (
                redirect_stdout(sys.stderr) if current_thread() is main_thread() else nullcontext()
            ):
                return getattr(import_module(module), name)
        except (Exception, SystemExit) as error:
            stated = self._source.requires if self._source else None
            if isinstance(error, ImportError) and (
                absent := missing_extra(stated or {}, f"{self.group}={self.name}")
            ):
                raise absent from error
            place = locate_error(error, {find_package(module)})
            cause = f"{type(error).__name__}: {error}" + (f"; {place}" if place else "")
            raise self.refusal(f"{self.target} cannot be imported ({cause})") from error

    def _check_default(self, parameter: Parameter) -> None:
        """Raise PluginError for a default in the signature that is not of the parameter's own type."""
        if parameter.required or parameter.group or parameter.injects_store:
            return
        try:
            check_value(plain_value(parameter.default), parameter, parameter.name)
        except ConfigError as error:
            place = locate_function(self.cls.__init__) or self.file
            raise self.refusal(f"the default of {error} ({place})") from error

    def _checked(self, parameter: Parameter, value: Any) -> Any:
        """A default that a variant gives. Raises PluginError for one that the parameter cannot
        have.
        """
        if parameter.injects_store:
            raise self.refusal(f"{parameter.name} is given by convrag, and has no default")
        if parameter.group:
            if isinstance(value, Use) or (value is None and parameter.optional):
                return value
            raise self.refusal(
                f'{parameter.name} is a stage, and its default is written use("...")'
            )
        try:
            check_value(value, parameter, parameter.name)
        except ConfigError as error:
            raise self.refusal(str(error)) from error
        return value
