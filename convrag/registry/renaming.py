"""Old names of parameters: values that are given under them move to the new ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convrag.api.errors import ConfigError, UnknownName
from convrag.registry.parameters import Parameter
from convrag.registry.schema import plain_value


def explain_old_names(parameters: Mapping[str, Parameter]) -> str:
    """Say which old name stands for a parameter that does not exist; empty where none does."""
    for name, parameter in parameters.items():
        if parameter.deprecated and parameter.deprecated.instead not in parameters:
            return f"{name} is deprecated: {UnknownName('parameter', parameter.deprecated.instead, parameters)}"
    return ""


def rename_values(
    config: Mapping[str, Any], parameters: Mapping[str, Parameter], place: str, distribution: str
) -> dict[str, Any]:
    """Return configured values with those of old names under the new ones, and warn of each.

    Args:
        config: parameter -> plain value; None for an old name that is not used.
        parameters: of the option, by name.
        place: where the values stand ("rewriter"), for messages.
        distribution: whose option it is.

    Raises:
        ConfigError: both names are given.
    """
    renamed = dict(config)
    for name, parameter in parameters.items():
        if not (old := parameter.deprecated) or renamed.get(name) is None:
            continue
        default = plain_value(parameters[old.instead].default)
        if renamed.get(old.instead, "???") not in ("???", default):
            raise ConfigError(f"{place}.{name} is an old name of {place}.{old.instead}: give one of the two")
        old.warn(f"{place}.{name}", f"{place}.{old.instead}", distribution)
        renamed[old.instead] = renamed[name]
        renamed[name] = None
    return renamed
