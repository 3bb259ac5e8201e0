"""An option in words, taken from its class: what it is, and its parameters with types, defaults and effects."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from docstring_parser import parse

from convrag.registry.option import Option
from convrag.registry.parameters import Parameter, Use, read_argument_texts, union_members


@dataclass(frozen=True)
class ParameterText:
    """A parameter in words: its type ("int", "oldest | newest", "llm stage"), its default ("3", "required")."""

    name: str
    type: str
    default: str
    help: str
    operational: bool = False


@dataclass(frozen=True)
class OptionText:
    """What docstring and signature of an option's class say; parameters that the kernel fills in are left out."""

    summary: str
    details: str
    parameters: tuple[ParameterText, ...]


def describe_option(option: Option) -> OptionText:
    """Read an option's class. Raises ConfigError where an annotation cannot be resolved."""
    parsed = parse(inspect.getdoc(option.cls) or "")
    told = read_argument_texts(option.cls)
    return OptionText(
        parsed.short_description or "",
        parsed.long_description or "",
        tuple(
            ParameterText(name, _type(parameter), _default(parameter), _help(parameter, told), parameter.operational)
            for name, parameter in option.parameters.items()
            if not parameter.injects_store
        ),
    )


def _help(parameter: Parameter, told: Mapping[str, str]) -> str:
    old = f"deprecated, write {parameter.deprecated.instead}; " if parameter.deprecated else ""
    return old + told.get(parameter.name, "")


def _type(parameter: Parameter) -> str:
    if parameter.group:
        return f"{parameter.group} stage"
    if get_origin(parameter.type) is Literal:
        return " | ".join(str(choice) for choice in get_args(parameter.type))
    return " | ".join(_type_name(member) for member in union_members(parameter.type))


def _type_name(annotation: Any) -> str:
    """A type without the modules of its names: `list[Path]`."""
    if annotation is type(None):
        return "None"
    name = annotation.__name__ if inspect.isclass(annotation) and not get_args(annotation) else str(annotation)
    return re.sub(r"\b(?:\w+\.)+", "", name)


def _default(parameter: Parameter) -> str:
    if isinstance(parameter.default, Use):
        return parameter.default.option
    if parameter.group:
        return "none" if parameter.default is None else "the run's"
    return "required" if parameter.default is Parameter.default else str(parameter.default)
