"""The one check of configured values, by pydantic: parameters of options, and settings."""

from __future__ import annotations

import inspect
import operator
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from convrag.api.errors import ConfigError, UnknownName
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
"""The limits of annotated-types: the comparison of a value with the limit, and its words."""


def check_value(value: Any, parameter: Parameter, place: str) -> Any:
    """Return the value that a constructor is given for a configured one.

    Args:
        value: plain: a scalar, a list, a dictionary.
        parameter: the constructor's.
        place: where the value stands ("rewriter.alpha"), for the message.

    Raises:
        UnknownName: the value is not one of the choices.
        ConfigError: the value does not have the annotated type, or is a number outside of the
            limits (`Annotated[int, Ge(1)]`).
    """
    checked = _convert(value, parameter.type, place)
    if isinstance(checked, int | float):
        _check_limits(checked, parameter, f"{place}={value}")
    return checked


def _check_limits(number: float, parameter: Parameter, subject: str) -> None:
    """Raise ConfigError for a number outside of a parameter's limits."""
    words = []
    is_within = True
    for name, (holds, comparison) in _LIMITS.items():
        for mark in parameter.limits:
            limit = getattr(mark, name, None)
            if limit is not None:
                words.append(f"{comparison} {limit}")
                is_within = is_within and holds(number, limit)
    if not is_within:
        raise ConfigError(f"{subject}: it must be {' and '.join(words)}")


def _convert(value: Any, annotation: Any, place: str) -> Any:
    members = union_members(annotation)
    if annotation is Any or (value is None and type(None) in members):
        return value
    if type(value) in _SCALARS and any(type(value) is member for member in members):
        return value
    literals = [member for member in members if get_origin(member) is Literal]
    choices = [choice for member in literals for choice in get_args(member)]
    if any(value == choice and type(value) is type(choice) for choice in choices):
        return value
    _refuse_unknown_fields(value, members, place)
    try:
        return _adapter(annotation).validate_python(value)
    except ValueError as error:
        enums = [member for member in members if _is_enum(member)]
        names = choices or [name for member in enums for name in member.__members__]
        takes_other_values = bool(set(members) & {int, float, bool})
        if isinstance(value, str) and names and not takes_other_values:
            raise UnknownName(f"{place}: value", value, map(str, names)) from error
        raise ConfigError(f"{place}={format_value(value)}: {_describe_problems(error)}") from error


def _refuse_unknown_fields(value: Any, members: Sequence[Any], place: str) -> None:
    """Raise UnknownName for a key of a dictionary that a plugin's dataclass does not have."""
    classes = [member for member in members if is_dataclass(member)]
    if not classes or not isinstance(value, Mapping):
        return
    names = [each.name for each in fields(classes[0])]
    unknown = [str(key) for key in value if key not in names]
    if unknown:
        raise UnknownName(f"{place}: key", unknown[0], names)


def format_value(value: Any) -> str:
    """Return a value as a user types it, cut off where it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)[:80]


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter  # takes long; most values need no conversion

    config = ConfigDict(arbitrary_types_allowed=True, coerce_numbers_to_str=True)
    checked = _for_pydantic(annotation)
    return TypeAdapter(checked) if is_dataclass(checked) else TypeAdapter(checked, config=config)


def _for_pydantic(annotation: Any) -> Any:
    """Return an annotation as pydantic should read it.

    `~` in a path is the home folder, an enum goes by the names of its members, true is not a
    number, and an iterable is a list (pydantic would make a generator, which ends after one loop).
    """
    from pydantic import AfterValidator, BeforeValidator

    origin, items = get_origin(annotation) or annotation, get_args(annotation)
    if annotation is Path:
        return Annotated[Path, BeforeValidator(_as_text), AfterValidator(Path.expanduser)]
    if annotation in (int, float):
        return Annotated[annotation, BeforeValidator(_refuse_truth)]
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
    """Return a number as text: a path may be called 2024."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if is_number else value


def _refuse_truth(value: Any) -> Any:
    """Raise ValueError for true and false, which pydantic would take for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("input should be a valid number")
    return value


def _is_enum(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, Enum)


def _describe_problems(error: ValueError) -> str:
    """Return pydantic's complaints, each once; items of a collection are counted from 1."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    problems = []
    for found in error.errors(include_url=False, include_input=False):
        numbers = [str(part + 1) for part in found["loc"] if isinstance(part, int)]
        place = f"item {'.'.join(numbers)}: " if numbers else ""
        message = found["msg"].removeprefix("Value error, ")
        problems.append(f"{place}{message[:1].lower()}{message[1:]}")
    return "; or ".join(dict.fromkeys(problems)) or str(error)
