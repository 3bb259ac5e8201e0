"""An option in words: its summary, and its parameters with types, defaults and texts."""

import inspect
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from convrag.registry.option import Option
from convrag.registry.parameters import Parameter, read_argument_texts, union_members


@dataclass(frozen=True)
class ParameterText:
    """A parameter in words: its type ("int", "oldest | newest", "llm stage") and its default."""

    name: str
    type: str
    default: str
    help: str
    operational: bool = False


@dataclass(frozen=True)
class OptionText:
    """The docstring and the signature of an option's class, without parameters that convrag fills
    in.
    """

    summary: str
    details: str
    parameters: tuple[ParameterText, ...]


def describe_option(option: Option) -> OptionText:
    """Read an option's class. Raises ConfigError where an annotation cannot be resolved."""
    from docstring_parser import parse  # only help needs it

    parsed = parse(inspect.getdoc(option.cls) or "")
    texts = read_argument_texts(option.cls)
    parameters = []
    for name, parameter in option.parameters.items():
        if parameter.injects_store:
            continue
        described = ParameterText(
            name=name,
            type=_describe_type(parameter),
            default=_describe_default(parameter),
            help=texts.get(name, ""),
            operational=parameter.operational,
        )
        parameters.append(described)
    summary = parsed.short_description or ""
    return OptionText(summary, parsed.long_description or "", tuple(parameters))


def _describe_type(parameter: Parameter) -> str:
    if parameter.value_type is not None:
        return f"{_describe_type(parameter.for_value())} | {parameter.group} stage"
    if parameter.group:
        return f"{parameter.group} stage"
    if get_origin(parameter.type) is Literal:
        return " | ".join(str(choice) for choice in get_args(parameter.type))
    return " | ".join(_type_name(member) for member in union_members(parameter.type))


def _type_name(annotation: Any) -> str:
    """Return a type without the modules of its names: `list[Path]`."""
    if annotation is type(None):
        return "None"
    name = str(annotation)
    if inspect.isclass(annotation) and not get_args(annotation):
        name = annotation.__name__
    return re.sub(r"\b(?:\w+\.)+", "", name)


def _describe_default(parameter: Parameter) -> str:
    if parameter.group and not parameter.used_option:
        return "none" if parameter.default is None else "the run's"
    return "required" if parameter.required else str(parameter.default)
