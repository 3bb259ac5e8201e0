"""The parameters of a constructor: what a user can set, and which stages are injected."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from convrag.api.deprecation import Deprecated
from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage


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
    """One parameter of an option.

    `type` is the annotation without its marks. `group` is that of an injected stage; `injects_store` says that the
    parameter is given the store. `deprecated` marks the old name of another parameter.
    """

    name: str
    type: Any
    default: Any = inspect.Parameter.empty
    operational: bool = False
    group: str = ""
    injects_store: bool = False
    deprecated: Deprecated | None = None

    @property
    def required(self) -> bool:
        """Whether a user must give a value."""
        return self.default is inspect.Parameter.empty and not self.group and not self.injects_store

    @property
    def used_option(self) -> str:
        """The option that an injected stage has by default, as in `use("kmeans")`; empty where it has none."""
        return self.default.option if isinstance(self.default, Use) else ""

    @property
    def is_of_run(self) -> bool:
        """Whether the parameter is given the run's stage, unless it is given one of its own."""
        return bool(self.group) and not self.used_option and self.default is not None

    @property
    def optional(self) -> bool:
        """Whether None is a value."""
        return type(None) in union_members(self.type)


def read_parameters(cls: type[Stage]) -> dict[str, Parameter]:
    """The parameters of a class's constructor by name.

    Raises ConfigError for an annotation that cannot be resolved, or a default that cannot be one.
    """
    where = f"{cls.__name__}.__init__"
    try:
        hints = get_type_hints(cls.__init__, include_extras=True)
    except NameError as error:
        raise ConfigError(f"{where} has an annotation that is not imported: {error}") from error
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {p.name: _read_parameter(p, hints.get(p.name, Any), where) for p in given if p.kind not in variadic}


def union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; of anything else, itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _read_parameter(parameter: inspect.Parameter, annotation: Any, where: str) -> Parameter:
    from convrag.store.store import Store  # here, since it takes long, and --help reads no parameter of a class

    annotation, marks = _without_marks(annotation)
    stage = next(filter(_is_stage, union_members(annotation)), None)
    deprecated = next((mark for mark in marks if isinstance(mark, Deprecated)), None)
    if deprecated and (stage or parameter.default is not None):
        raise ConfigError(f"{where}: {parameter.name} is deprecated, so it is no stage, and its default is None")
    if stage and isinstance(parameter.default, str):
        raise ConfigError(
            f"{where}: the default of {parameter.name} names an option, and is written "
            f'{parameter.name}: {stage.__name__} = use("{parameter.default}")'
        )
    return Parameter(
        name=parameter.name,
        type=annotation,
        default=parameter.default,
        operational=any(isinstance(mark, Operational) or mark is Operational for mark in marks),
        group=_injected_group(stage, parameter.name) if stage else "",
        injects_store=Store in union_members(annotation),
        deprecated=deprecated,
    )


def _is_stage(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, Stage)


def _without_marks(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation without `Annotated`, around it or around a member of a union, and what stood in it."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        inner, more = _without_marks(inner)
        return inner, (*marks, *more)
    members = union_members(annotation)
    if len(members) == 1:
        return annotation, ()
    bare = [_without_marks(member) for member in members]
    return Union[tuple(member for member, _ in bare)], tuple(mark for _, marks in bare for mark in marks)  # noqa: UP007


def _injected_group(stage: type[Stage], name: str) -> str:
    """The group to inject from: the parameter's own name where that is one of the class's groups, else the first."""
    groups: Mapping[str, None] = {group: None for group, cls in GROUPS.items() if issubclass(stage, cls)}
    if not groups:
        raise ConfigError(f"parameter {name!r} is annotated with {stage.__name__}, which belongs to no group")
    return name if name in groups else options_group(next(iter(groups)))
