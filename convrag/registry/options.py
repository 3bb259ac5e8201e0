"""A constructor's signature becomes a typed option: its parameters, its Hydra schema, its checked values."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from convrag.api.errors import ConfigError, MissingExtra, UnknownName
from convrag.api.stages import GROUPS, OPTION_KEY, Stage, options_group
from convrag.registry.extras import missing_extra
from convrag.store.store import Store


class Operational:
    """The mark of a parameter that concerns operation, not results (workers, batch sizes, timeouts)."""


operational = Operational()
"""`batch_size: Annotated[int, operational] = 32` keeps batch_size out of the stage's fingerprint."""


@dataclass(frozen=True)
class Use:
    """The option that an injected stage has by default."""

    option: str


def use(option: str) -> Any:
    """Default of an injected parameter whose stage is not the run's: `clusterer: Clusterer = use("kmeans")`."""
    return Use(option)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an option. `group` is that of an injected stage; `injects_store` marks the one for the store."""

    name: str
    type: Any
    default: Any = inspect.Parameter.empty
    operational: bool = False
    group: str = ""
    injects_store: bool = False

    @property
    def required(self) -> bool:
        """Whether a user must give a value."""
        return self.default is inspect.Parameter.empty and not self.group and not self.injects_store

    @property
    def optional(self) -> bool:
        """Whether None is a value."""
        return type(None) in _members(self.type)


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
        try:
            hints = get_type_hints(self.cls.__init__, include_extras=True)
        except NameError as error:
            raise ConfigError(
                f"{self.cls.__name__}.__init__ has an annotation that is not imported: {error}"
            ) from error
        signature = inspect.signature(self.cls.__init__)
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        named = [p for p in list(signature.parameters.values())[1:] if p.kind not in variadic]
        return {p.name: _parameter(p, hints.get(p.name, Any)) for p in named}

    @cached_property
    def schema(self) -> type:
        """A dataclass for Hydra's ConfigStore: typed and defaulted as in the signature."""
        fields: list[tuple[str, Any, Any]] = [(OPTION_KEY, str, field(default=self.name))]
        nested = []
        for parameter in self.parameters.values():
            if parameter.injects_store:
                continue
            if parameter.group:
                fields.append((parameter.name, Any, field(default=None)))
                if isinstance(parameter.default, Use):
                    nested.append({f"/{parameter.group}@{parameter.name}": parameter.default.option})
            else:
                fields.append((parameter.name, _schema_type(parameter.type), _schema_default(parameter)))
        if nested:
            fields.append(("defaults", list[Any], field(default_factory=lambda: ["_self_", *nested])))
        return make_dataclass(f"{self.cls.__name__}Options", fields)

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
            values[name] = _convert(value, parameter.type, f"{place}.{name}")
        return values

    @property
    def configurable(self) -> list[str]:
        """The names of the parameters that can be given in a configuration."""
        return [name for name, parameter in self.parameters.items() if not parameter.injects_store]


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    marks: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        marks = tuple(rest)
    stage = next(
        (member for member in _members(annotation) if inspect.isclass(member) and issubclass(member, Stage)), None
    )
    return Parameter(
        name=parameter.name,
        type=annotation,
        default=parameter.default,
        operational=any(isinstance(mark, Operational) or mark is Operational for mark in marks),
        group=_group(stage, parameter.name) if stage else "",
        injects_store=annotation is Store,
    )


def _group(stage: type[Stage], name: str) -> str:
    """The group to inject from: the parameter's own name where that is one of the class's groups, else the first."""
    groups = [group for group, cls in GROUPS.items() if issubclass(stage, cls)]
    if not groups:
        raise ConfigError(f"parameter {name!r} is annotated with {stage.__name__}, which belongs to no group")
    return name if name in groups else options_group(groups[0])


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; of anything else, itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _schema_type(annotation: Any) -> Any:
    """What OmegaConf can hold for an annotation: checked again by `values`, where it is wider."""
    members = [member for member in _members(annotation) if member is not type(None)]
    if len(members) > 1:
        scalar = all(member in (bool, int, float, str) for member in members)
        return annotation if scalar else Any
    wanted = _plain_type(members[0])
    return wanted if len(members) == len(_members(annotation)) else wanted | None if wanted is not Any else Any


def _plain_type(annotation: Any) -> Any:
    if annotation in (bool, int, float, str):
        return annotation
    if annotation is Path:
        return str
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return str if all(isinstance(choice, str) for choice in get_args(annotation)) else Any
    if inspect.isclass(origin) and issubclass(origin, Enum):
        return origin
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return dict[str, Any]
    if inspect.isclass(origin) and issubclass(origin, Iterable):
        items = [item for item in get_args(annotation) if item is not Ellipsis]
        return list[_plain_type(items[0])] if len(items) == 1 else list[Any]  # type: ignore[misc]
    return Any


def _schema_default(parameter: Parameter) -> Any:
    default = parameter.default
    if parameter.required:
        return field(default="???")
    if isinstance(default, Path):
        return field(default=str(default))
    if isinstance(default, Mapping):
        return field(default_factory=lambda: dict(default))
    if isinstance(default, Sequence) and not isinstance(default, str):
        return field(default_factory=lambda: [str(item) if isinstance(item, Path) else item for item in default])
    return field(default=default)


def _convert(value: Any, annotation: Any, place: str) -> Any:
    """A plain value as its annotation has it: a Path, a member of an Enum, one of the choices of a Literal, a tuple."""
    members = _members(annotation)
    if value is None and type(None) in members:
        return None
    for member in members:
        origin = get_origin(member) or member
        if origin is Literal:
            choices = get_args(member)
            if value not in choices:
                raise UnknownName(f"{place}: value", str(value), map(str, choices))
        elif origin is Path:
            return Path(str(value)).expanduser()
        elif inspect.isclass(origin) and issubclass(origin, Enum) and not isinstance(value, origin):
            if str(value) not in origin.__members__:
                raise UnknownName(f"{place}: value", str(value), origin.__members__)
            return origin[str(value)]
        elif (
            origin in (list, tuple, Sequence, typing.Iterable)
            and isinstance(value, Sequence)
            and not isinstance(value, str)
        ):
            inner = next((item for item in get_args(member) if item is not Ellipsis), Any)
            items = [_convert(item, inner, place) for item in value]
            return tuple(items) if origin is tuple else items
    return value
