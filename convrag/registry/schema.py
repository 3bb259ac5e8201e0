"""Parameters as a structured config for Hydra's store: names and defaults.

The fields are untyped: `convrag.registry.values` is the one check of values. OmegaConf's own types
could say less (`Literal`, `Path`, the length of a tuple), and their messages are in other words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import field, fields, is_dataclass, make_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from convrag.api.groups import OPTION_KEY
from convrag.registry.parameters import Parameter


def make_schema(
    title: str, option: str, parameters: Iterable[Parameter], facts: Mapping[str, str] | None = None
) -> type:
    """Make a structured config with the defaults of a constructor's signature.

    Args:
        title: the dataclass's name.
        option: the value of the key `_option_`.
        parameters: the option's. A stage is a field, and a group of Hydra's defaults list, with its
            own default (`use("kmeans")`) or none yet.
        facts: name -> value, what conf/config.yaml can refer to as `${name}` in its defaults list.
            There, Hydra knows nothing but the choices of groups, so each fact is the choice of an
            optional group, which does not exist.
    """
    members: list[tuple[str, Any, Any]] = [(OPTION_KEY, Any, field(default=option))]
    nested: list[dict[str, str | None]] = [
        {f"optional /{name}@_global_.{name}": value} for name, value in (facts or {}).items()
    ]
    for parameter in parameters:
        if parameter.injects_store:
            continue
        default = "???" if parameter.required else parameter.default
        if parameter.group:
            default = None
            nested.append({f"/{parameter.group}@{parameter.name}": parameter.used_option or None})
        members.append((parameter.name, Any, make_field(default)))
    if nested:
        members.append(("defaults", Any, field(default_factory=lambda: ["_self_", *nested])))
    return make_structured(title, members)


def make_structured(title: str, members: Iterable[tuple[str, Any, Any]]) -> type:
    """Make a dataclass without the three methods that take most of the time and nobody calls."""
    return make_dataclass(title, members, init=False, repr=False, eq=False)


def make_field(default: Any) -> Any:
    """Make a dataclass field with a default that is copied where it can be changed."""
    plain = plain_value(default)
    if isinstance(plain, (list, dict)):
        return field(default_factory=lambda: plain)
    return field(default=plain)


def plain_value(value: Any) -> Any:
    """Return a default as a configuration holds it: paths are text, collections lists, dataclasses
    dictionaries, and enums the names of their members.
    """
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain_value(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((plain_value(item) for item in value), key=repr)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain_value(item) for item in value]
    return value
