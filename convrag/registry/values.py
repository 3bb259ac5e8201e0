"""Configured values become what a constructor takes, checked by pydantic: a Path, a tuple, a choice of a Literal."""

from __future__ import annotations

import collections.abc
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from convrag.api.errors import ConfigError, UnknownName
from convrag.registry.parameters import Parameter, union_members

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_SCALARS = (bool, int, float, str)
_LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "above"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "below"),
}
"""The limits of annotated-types: what must hold of a value and the limit, and how a message says it."""


def check_value(value: Any, parameter: Parameter, place: str) -> Any:
    """The value that a constructor is given for a configured one.

    Args:
        value: plain: a scalar, a list, a dictionary.
        parameter: of the constructor.
        place: where it stands ("rewriter.alpha"), for the message.

    Raises:
        ConfigError: the value is none of the annotation's, or a number outside of its limits (`Annotated[int, Ge(1)]`);
            UnknownName where it is none of the choices.
    """
    checked = _convert(value, parameter.type, place)
    found = [(name, getattr(mark, name, None)) for mark in parameter.limits for name in _LIMITS]
    limits = {name: limit for name, limit in found if limit is not None}
    if isinstance(checked, int | float) and not all(_LIMITS[each][0](checked, limits[each]) for each in limits):
        wanted = " and ".join(f"{_LIMITS[name][1]} {limit}" for name, limit in limits.items())
        raise ConfigError(f"{place}={value}: it must be {wanted}")
    return checked


def _convert(value: Any, annotation: Any, place: str) -> Any:
    members = union_members(annotation)
    if annotation is Any or (value is None and type(None) in members):
        return value
    if type(value) in _SCALARS and any(type(value) is member for member in members):
        return value
    choices = [choice for member in members if get_origin(member) is Literal for choice in get_args(member)]
    if any(value == choice and type(value) is type(choice) for choice in choices):
        return value
    try:
        return _adapter(annotation).validate_python(value)
    except ValueError as error:
        names = choices or [name for member in members if _is_enum(member) for name in member.__members__]
        if isinstance(value, str) and names and not set(members) & {int, float, bool}:
            raise UnknownName(f"{place}: value", value, map(str, names)) from error
        raise ConfigError(f"{place}={_shown(value)}: {_complaint(error)}") from error


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True)
    checked = _for_pydantic(annotation)
    return TypeAdapter(checked) if is_dataclass(checked) else TypeAdapter(checked, config=config)


def _for_pydantic(annotation: Any) -> Any:
    """An annotation as pydantic should read it: `~` in paths is the home, an enum goes by its names, what can be gone
    through is a list (pydantic would make a generator, which can be gone through once).
    """
    from pydantic import AfterValidator, BeforeValidator

    origin, items = get_origin(annotation) or annotation, get_args(annotation)
    if annotation is Path:
        return Annotated[Path, BeforeValidator(_as_text), AfterValidator(Path.expanduser)]
    if _is_enum(annotation):
        return Annotated[annotation, BeforeValidator(lambda value: _member_of(annotation, value))]
    if origin is Literal or not items:
        return annotation
    inner = tuple(item if item is Ellipsis else _for_pydantic(item) for item in items)
    if len(union_members(annotation)) > 1:
        return Union[inner]  # noqa: UP007
    if origin in (collections.abc.Iterable, collections.abc.Collection, collections.abc.Sequence):
        return list[inner[0]]  # type: ignore[valid-type]
    if origin is collections.abc.Mapping:
        return dict[inner[0], inner[1]]  # type: ignore[valid-type]
    return origin[inner]


def _as_text(value: Any) -> Any:
    """A number as text: a path may be called 2024."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _member_of(enum: type[Enum], value: Any) -> Any:
    return enum.__members__.get(value, value) if isinstance(value, str) else value


def _is_enum(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, Enum)


def _complaint(error: ValueError) -> str:
    """What pydantic has against a value: each of its complaints once."""
    found: Iterable[Mapping[str, Any]] = _errors(error)
    told = dict.fromkeys(f"{_place(each)}{each['msg'][:1].lower()}{each['msg'][1:]}" for each in found)
    return "; or ".join(told) or str(error)


def _errors(error: ValidationError | ValueError) -> Iterable[Mapping[str, Any]]:
    errors = getattr(error, "errors", None)
    return errors(include_url=False, include_input=False) if errors else ()


def _place(found: Mapping[str, Any]) -> str:
    """Where inside a collection it is, counted from 1, without pydantic's names for the members of a union."""
    places = [part for part in found["loc"] if isinstance(part, int)]
    return f"item {'.'.join(str(part + 1) for part in places)}: " if places else ""


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
