"""The parameters of an option as a dataclass for Hydra's ConfigStore: shapes that OmegaConf can hold.

What an annotation says beyond that (`Literal`, `Path`, the length of a tuple) is checked by convrag.registry.values.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, field, fields, is_dataclass, make_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from convrag.api.groups import OPTION_KEY
from convrag.registry.parameters import Parameter, Use, union_members

_SCALARS = (bool, int, float, str)


def make_schema(title: str, option: str, parameters: Iterable[Parameter]) -> type:
    """A structured config, typed and defaulted as in the constructor's signature.

    Args:
        title: the dataclass's name.
        option: the value of the key `_option_`.
        parameters: those of the option. A stage is a field of any type, and a group of Hydra's defaults list, with its
            own default (`use("kmeans")`) or none yet.
    """
    members: list[tuple[str, Any, Any]] = [(OPTION_KEY, str, field(default=option))]
    nested = []
    for parameter in parameters:
        if parameter.injects_store:
            continue
        if parameter.group:
            members.append((parameter.name, Any, field(default=None)))
            default = parameter.default.option if isinstance(parameter.default, Use) else None
            nested.append({f"/{parameter.group}@{parameter.name}": default})
        elif parameter.required:
            members.append((parameter.name, _omega_type(parameter.type), field(default="???")))
        else:
            wanted = _omega_type(parameter.type)
            members.append((parameter.name, wanted, _default_field(parameter.default, wanted)))
    if nested:
        members.append(("defaults", list[Any], field(default_factory=lambda: ["_self_", *nested])))
    return make_dataclass(title, members, init=False, repr=False, eq=False)  # three methods that cost most of the time


def _omega_type(annotation: Any) -> Any:
    """What OmegaConf can hold for an annotation: a scalar, a union of scalars, a list, a dict, a structured config."""
    members = [_member_type(member) for member in union_members(annotation) if member is not type(None)]
    distinct = list(dict.fromkeys(members)) if Any not in members else [Any]
    if distinct == [Any] or (len(distinct) > 1 and not all(member in _SCALARS for member in distinct)):
        return Any
    wanted = distinct[0]
    for member in distinct[1:]:
        wanted = wanted | member
    if type(None) not in union_members(annotation):
        return wanted
    return Any if get_origin(wanted) is dict else wanted | None  # OmegaConf cannot merge a dictionary into None


def _member_type(annotation: Any) -> Any:
    """The type for one member of a union."""
    if annotation in _SCALARS:
        return annotation
    if annotation is Path:
        return str
    origin, items = get_origin(annotation) or annotation, get_args(annotation)
    if origin is Literal:
        return str if all(isinstance(choice, str) for choice in items) else Any
    if not inspect.isclass(origin):
        return Any
    if issubclass(origin, Enum):
        return origin
    if is_dataclass(origin):
        return _nested_schema(origin)
    if issubclass(origin, Mapping):
        return dict[str, _omega_type(items[1])] if len(items) == 2 and items[0] is str else dict[Any, Any]  # type: ignore[misc]
    if issubclass(origin, Iterable):
        alike = {item for item in items if item is not Ellipsis}
        return list[_omega_type(alike.pop())] if len(alike) == 1 else list[Any]  # type: ignore[misc]
    return Any


def _nested_schema(cls: type) -> type:
    """A dataclass with fields that OmegaConf can hold, for one of a plugin's own."""
    hints = get_type_hints(cls)
    members = []
    for each in fields(cls):
        wanted = _omega_type(hints[each.name])
        default = each.default if each.default_factory is MISSING else each.default_factory()
        given = field(default="???") if default is MISSING else _default_field(default, wanted)
        members.append((each.name, wanted, given))
    return make_dataclass(cls.__name__, members)


def _default_field(default: Any, wanted: Any) -> Any:
    """A dataclass field of a type that OmegaConf can hold, with a default that is copied where it can be changed."""
    plain = plain_value(default)
    nested: Any = next((member for member in union_members(wanted) if is_dataclass(member)), None)
    if nested and isinstance(plain, dict):
        return field(default_factory=lambda: nested(**plain))
    return field(default_factory=lambda: plain) if isinstance(plain, (list, dict)) else field(default=plain)


def plain_value(value: Any) -> Any:
    """A default as it stands in a configuration: paths as text, collections as lists, dataclasses as dictionaries."""
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
