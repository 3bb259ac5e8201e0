"""What a signature says is what a configuration may hold: shapes for Hydra's store, and checks of
values by pydantic.

OmegaConf can hold less than an annotation says (`Literal`, `Path`, the length of a tuple): the rest
is checked when a constructor is called.
"""

from __future__ import annotations

import inspect
import operator
from collections import abc
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from dataclasses import MISSING, field, fields, is_dataclass, make_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from convrag.api.errors import ConfigError, UnknownName
from convrag.api.groups import OPTION_KEY
from convrag.registry.parameters import Parameter, union_members

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SCALARS = (bool, int, float, str)
_LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "above"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "below"),
}
"""The limits of annotated-types: what must hold of a value and the limit, and how a message says
it.
"""


def make_schema(title: str, option: str, parameters: Iterable[Parameter]) -> type:
    """A structured config, typed and defaulted as in the constructor's signature.

    Args:
        title: the dataclass's name.
        option: the value of the key `_option_`.
        parameters: of the option. A stage is a field of any type, and a group of Hydra's defaults
            list, with its own default (`use("kmeans")`) or none yet.
    """
    members: list[tuple[str, Any, Any]] = [(OPTION_KEY, str, field(default=option))]
    nested = []
    for parameter in parameters:
        if parameter.injects_store:
            continue
        if parameter.group:
            members.append((parameter.name, Any, field(default=None)))
            nested.append({f"/{parameter.group}@{parameter.name}": parameter.used_option or None})
        elif parameter.required:
            members.append((parameter.name, _omega_type(parameter.type), field(default="???")))
        else:
            wanted = _omega_type(parameter.type)
            members.append((parameter.name, wanted, _default_field(parameter.default, wanted)))
    if nested:
        members.append(("defaults", list[Any], field(default_factory=lambda: ["_self_", *nested])))
    return make_dataclass(
        title, members, init=False, repr=False, eq=False
    )  # three methods that cost most of the time


def _omega_type(annotation: Any) -> Any:
    """What OmegaConf can hold for an annotation: a scalar, a union of scalars, a list, a dict, a
    structured config.
    """
    members = [
        _member_type(member) for member in union_members(annotation) if member is not type(None)
    ]
    distinct = list(dict.fromkeys(members)) if Any not in members else [Any]
    if distinct == [Any] or (
        len(distinct) > 1 and not all(member in _SCALARS for member in distinct)
    ):
        return Any
    wanted = distinct[0]
    for member in distinct[1:]:
        wanted = wanted | member
    if type(None) not in union_members(annotation):
        return wanted
    return (
        Any if get_origin(wanted) is dict else wanted | None
    )  # OmegaConf cannot merge a dictionary into None


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
        if len(items) == 2 and items[0] is str:
            return dict[str, _omega_type(items[1])]  # type: ignore[misc]
        return dict[Any, Any]
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
    """A dataclass field of a type that OmegaConf can hold, with a default that is copied where it
    can be changed.
    """
    plain = plain_value(default)
    nested: Any = next((member for member in union_members(wanted) if is_dataclass(member)), None)
    if nested and isinstance(plain, dict):
        return field(default_factory=lambda: nested(**plain))
    return (
        field(default_factory=lambda: plain)
        if isinstance(plain, (list, dict))
        else field(default=plain)
    )


def plain_value(value: Any) -> Any:
    """A default as it stands in a configuration: paths as text, collections as lists, dataclasses
    as dictionaries.
    """
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


def check_value(value: Any, parameter: Parameter, place: str) -> Any:
    """The value that a constructor is given for a configured one.

    Args:
        value: plain: a scalar, a list, a dictionary.
        parameter: of the constructor.
        place: where it stands ("rewriter.alpha"), for the message.

    Raises:
        ConfigError: the value is none of the annotation's, or a number outside of its limits
            (`Annotated[int, Ge(1)]`); UnknownName where it is none of the choices.
    """
    checked = _convert(value, parameter.type, place)
    found = [(name, getattr(mark, name, None)) for mark in parameter.limits for name in _LIMITS]
    limits = {name: limit for name, limit in found if limit is not None}
    if isinstance(checked, int | float) and not all(
        _LIMITS[each][0](checked, limits[each]) for each in limits
    ):
        wanted = " and ".join(f"{_LIMITS[name][1]} {limit}" for name, limit in limits.items())
        raise ConfigError(f"{place}={value}: it must be {wanted}")
    return checked


def _convert(value: Any, annotation: Any, place: str) -> Any:
    members = union_members(annotation)
    if annotation is Any or (value is None and type(None) in members):
        return value
    if type(value) in _SCALARS and any(type(value) is member for member in members):
        return value
    choices = [
        choice for member in members if get_origin(member) is Literal for choice in get_args(member)
    ]
    if any(value == choice and type(value) is type(choice) for choice in choices):
        return value
    try:
        return _adapter(annotation).validate_python(value)
    except ValueError as error:
        names = choices or [
            name for member in members if _is_enum(member) for name in member.__members__
        ]
        if isinstance(value, str) and names and not set(members) & {int, float, bool}:
            raise UnknownName(f"{place}: value", value, map(str, names)) from error
        raise ConfigError(f"{place}={str(value)[:80]}: {_complaint(error)}") from error


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True)
    checked = _for_pydantic(annotation)
    return TypeAdapter(checked) if is_dataclass(checked) else TypeAdapter(checked, config=config)


def _for_pydantic(annotation: Any) -> Any:
    """An annotation as pydantic should read it: `~` in paths is the home, an enum goes by its
    names, what can be gone through is a list (pydantic would make a generator, which can be gone
    through once).
    """
    from pydantic import AfterValidator, BeforeValidator

    origin, items = get_origin(annotation) or annotation, get_args(annotation)
    if annotation is Path:
        return Annotated[Path, BeforeValidator(_as_text), AfterValidator(Path.expanduser)]
    if _is_enum(annotation):
        members: Mapping[Any, Any] = annotation.__members__
        return Annotated[annotation, BeforeValidator(lambda value: members.get(str(value), value))]
    if origin is Literal or not items:
        return annotation
    inner = tuple(item if item is Ellipsis else _for_pydantic(item) for item in items)
    if len(union_members(annotation)) > 1:
        return Union[inner]  # noqa: UP007
    if origin in (abc.Iterable, abc.Collection, abc.Sequence):
        return list[inner[0]]  # type: ignore[valid-type]
    if origin is abc.Mapping:
        return dict[inner[0], inner[1]]  # type: ignore[valid-type]
    return origin[inner]


def _as_text(value: Any) -> Any:
    """A number as text: a path may be called 2024."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _is_enum(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, Enum)


def _complaint(error: ValueError) -> str:
    """What pydantic has against a value, each complaint once; items of a collection are counted
    from 1.
    """
    from pydantic import ValidationError

    told: dict[str, None] = {}
    for found in (
        error.errors(include_url=False, include_input=False)
        if isinstance(error, ValidationError)
        else ()
    ):
        items = [str(part + 1) for part in found["loc"] if isinstance(part, int)]
        place = f"item {'.'.join(items)}: " if items else ""
        told[f"{place}{found['msg'][:1].lower()}{found['msg'][1:]}"] = None
    return "; or ".join(told) or str(error)
