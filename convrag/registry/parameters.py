"""The parameters of an option: those that a user sets, and stages that are injected."""

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from convrag.api.errors import ConfigError, locate_function
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage


class Operational:
    """The mark of a parameter that has no bearing on results (workers, batch sizes, timeouts)."""


operational = Operational()
"""`batch_size: Annotated[int, operational] = 32` keeps batch_size out of the stage's fingerprint.
"""


@dataclass(frozen=True)
class Use:
    """The option that an injected stage has by default."""

    option: str

    def __str__(self) -> str:
        return self.option


def use(option: str) -> Any:
    """Make the default of an injected parameter whose stage is not the run's.

    def __init__(self, *, clusterer: Clusterer = use("kmeans")) -> None: ...
    """
    return Use(option)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an option.

    Args:
        name: the parameter's name.
        type: the annotation without its marks.
        default: the default of the signature, or of a variant; `empty` where there is none.
        operational: whether it concerns operation alone.
        group: the group of an injected stage; empty for a value.
        injects_store: whether the store is injected.
        limits: the limits of a number, in annotated-types' words: `Annotated[int, Ge(1)]`.
    """

    name: str
    type: Any
    default: Any = inspect.Parameter.empty
    operational: bool = False
    group: str = ""
    injects_store: bool = False
    limits: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a user must give a value."""
        return self.default is inspect.Parameter.empty and not self.group and not self.injects_store

    @property
    def used_option(self) -> str:
        """The option that an injected stage has by default (`use("kmeans")`); empty without one."""
        return self.default.option if isinstance(self.default, Use) else ""

    @property
    def value_type(self) -> Any:
        """The type of a value that may be given in place of a stage (`Path | Dataset | None`).

        None where only a stage may be given.
        """
        members = union_members(self.type)
        values = [each for each in members if each is not type(None) and not _is_stage(each)]
        return Union[tuple(values)] if self.group and values else None  # noqa: UP007

    def for_value(self) -> "Parameter":
        """Return the parameter as it is where a value is given in place of a stage."""
        return replace(self, type=self.value_type, group="")

    @property
    def optional(self) -> bool:
        """Whether None is a value."""
        return type(None) in union_members(self.type)


def read_parameters(cls: type[Stage]) -> dict[str, Parameter]:
    """Return the parameters of a class's constructor by name.

    Raises ConfigError for an annotation that cannot be resolved, or a default that cannot be one.
    """
    where = f"{cls.__name__}.__init__"
    # A dataclass may inherit fields from another module, where their annotations are resolved.
    has_generated_init = is_dataclass(cls) and not locate_function(cls.__init__)
    try:
        hints = get_type_hints(cls if has_generated_init else cls.__init__, include_extras=True)
    except NameError as error:
        raise ConfigError(f"{where} has an annotation that is not imported: {error}") from error
    factories = _find_default_factories(cls) if has_generated_init else {}
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    _, *signature = inspect.signature(cls.__init__).parameters.values()
    parameters = {}
    for each in signature:
        if each.kind not in variadic:
            annotation = hints.get(each.name, Any)
            default = factories[each.name]() if each.name in factories else each.default
            parameters[each.name] = make_parameter(each.name, annotation, default, where)
    return parameters


def _find_default_factories(cls: type[Any]) -> dict[str, Callable[[], Any]]:
    """Find the factories of the defaults of a dataclass's fields: `field(default_factory=dict)`."""
    return {
        each.name: each.default_factory
        for each in fields(cls)
        if each.default_factory is not MISSING
    }


def read_argument_texts(documented: object) -> Mapping[str, str]:
    """Return the `Args:` of a docstring: name -> its text, on one line.

    A parameter that a class does not explain has the text of its base classes.
    """
    from docstring_parser import parse  # only help and messages need it

    if isinstance(documented, type):
        classes = reversed(documented.__mro__[:-1])
        docstrings = [inspect.cleandoc(each.__doc__ or "") for each in classes]
    else:
        docstrings = [inspect.getdoc(documented) or ""]
    texts = {}
    for docstring in docstrings:
        for item in parse(docstring).params:
            texts[item.arg_name] = " ".join((item.description or "").split())
    return texts


def union_members(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union; the annotation itself where it is not one."""
    is_union = get_origin(annotation) in (Union, types.UnionType)
    return get_args(annotation) if is_union else (annotation,)


def make_parameter(name: str, annotation: Any, default: Any, where: str) -> Parameter:
    """Make a parameter from a signature; `where` names the constructor in messages.

    Raises ConfigError for a default that cannot be one, and for a stage of no group.
    """
    annotation, marks = _without_marks(annotation)
    members = union_members(annotation)
    stages = [each for each in members if _is_stage(each)]
    stage = stages[0] if stages else None
    if stage and isinstance(default, str):
        raise ConfigError(
            f"{where}: the default of {name} names an option, and is written "
            f'{name}: {stage.__name__} = use("{default}")'
        )
    parameter = Parameter(
        name=name,
        type=annotation,
        default=default,
        operational=any(isinstance(mark, Operational) or mark is Operational for mark in marks),
        group=_injected_group(stage, name) if stage else "",
        injects_store=any(map(_is_store, members)),
        limits=tuple(mark for mark in marks if _is_limit(mark)),
    )
    if parameter.value_type is not None and default is not None:
        raise ConfigError(f"{where}: {name} takes a stage or a value, so its default must be None")
    return parameter


def _is_stage(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, Stage)


def _is_limit(mark: Any) -> bool:
    return any(hasattr(mark, name) for name in ("ge", "gt", "le", "lt"))


def _is_store(annotation: Any) -> bool:
    """Whether an annotation is the class of the store; by its name, as its import takes long."""
    if not inspect.isclass(annotation):
        return False
    return annotation.__name__ == "Store" and annotation.__module__.startswith("convrag.")


def _without_marks(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation without `Annotated`, also around members of a union, and the marks."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        inner, more = _without_marks(inner)
        return inner, (*marks, *more)
    members = union_members(annotation)
    if len(members) == 1:
        return annotation, ()
    bare = [_without_marks(member) for member in members]
    plain = tuple(member for member, _ in bare)
    all_marks = tuple(mark for _, marks in bare for mark in marks)
    return Union[plain], all_marks  # noqa: UP007


def _injected_group(stage: type[Stage], name: str) -> str:
    """Return the group to inject from: the one that the parameter is named after, or the first."""
    groups = [group for group, cls in GROUPS.items() if issubclass(stage, cls)]
    if not groups:
        raise ConfigError(
            f"parameter {name!r} is annotated with {stage.__name__}, which belongs to no group"
        )
    return name if name in groups else options_group(groups[0])
