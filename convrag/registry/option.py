"""An option: a class that a group offers under a name, with the parameters of its constructor."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from convrag.api.errors import ConfigError, MissingExtra, UnknownName
from convrag.api.groups import OPTION_KEY
from convrag.api.stage import Stage
from convrag.registry.extras import missing_extra
from convrag.registry.parameters import Parameter, read_parameters
from convrag.registry.schema import make_schema
from convrag.registry.values import check_value


@dataclass(frozen=True)
class Option:
    """A class that a group offers under a name, and the distribution that brought it."""

    group: str
    name: str
    cls: type[Stage]
    plugin: str
    distribution: str
    version: str = ""

    @property
    def help(self) -> str:
        """The first line of the class's docstring."""
        return (inspect.getdoc(self.cls) or "").partition("\n")[0]

    def missing_extra(self, place: str = "") -> MissingExtra | None:
        """Which of the modules that the class requires are not installed; `place` is where it was chosen."""
        return missing_extra(self.cls.requires, f"{place or self.group}={self.name}")

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The constructor's parameters by name. Raises ConfigError where an annotation cannot be resolved."""
        return read_parameters(self.cls)

    @cached_property
    def schema(self) -> type:
        """A dataclass for Hydra's ConfigStore: typed and defaulted as in the signature."""
        return make_schema(f"{self.cls.__name__}Options", self.name, self.parameters.values())

    def values(self, config: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Check configured values and turn them into what the constructor takes; injected stages are left out.

        Args:
            config: parameter -> plain value.
            place: where they stand ("rewriter"), for messages.

        Raises:
            ConfigError: an unknown parameter, a missing or an impossible value.
        """
        if unknown := [name for name in config if name not in self.parameters and name != OPTION_KEY]:
            raise UnknownName(f"{place}={self.name}: parameter", unknown[0], self.configurable)
        values = {}
        for name in self.configurable:
            parameter = self.parameters[name]
            if parameter.group:
                continue
            value = config.get(name, "???" if parameter.required else parameter.default)
            if value == "???":
                raise ConfigError(f"{place}={self.name} needs a value: {place}.{name}=...")
            values[name] = check_value(value, parameter.type, f"{place}.{name}")
        return values

    @property
    def configurable(self) -> list[str]:
        """The names of the parameters that can be given in a configuration."""
        return [name for name, parameter in self.parameters.items() if not parameter.injects_store]
