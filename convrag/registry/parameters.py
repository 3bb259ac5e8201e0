"""The parameters of a constructor: what a user can set, and which stages are injected."""

import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from convrag.api.errors import ConfigError, locate_function
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage


class Operational:
    """The mark of a parameter that concerns operation, not results (workers, batch sizes,
    timeouts).
    """


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
    """Default of an injected parameter whose stage is not the run's: `clusterer: Clusterer =
    use("kmeans")`.
    """
    return Use(option)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an option.

    Args:
        name: the parameter's name.
        type: the annotation without its marks.
        default: of the signature, or of a variant; `empty` where there is none.
        operational: whether it concerns operation alone.
        group: the group of an injected stage; empty for a value.
        injects_store: whether it is given the store.
        limits: of a number, as annotated-types has them: `Annotated[int, Ge(1)]`.
        known: whether the annotation is known: one that was read in a module's source may have to
            be imported.
    """

    name: str
    type: Any
    default: Any = inspect.Parameter.empty
    operational: bool = False
    group: str = ""
    injects_store: bool = False
    limits: tuple[Any, ...] = ()
    known: bool = True

    @property
    def required(self) -> bool:
        """Whether a user must give a value."""
        return self.default is inspect.Parameter.empty and not self.group and not self.injects_store

    @property
    def used_option(self) -> str:
        """The option that an injected stage has by default, as in `use("kmeans")`; empty where it
        has none.
        """
        return self.default.option if isinstance(self.default, Use) else ""

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
        made = is_dataclass(cls) and not locate_function(
            cls.__init__
        )  # its fields may be of other modules
        hints = get_type_hints(cls if made else cls.__init__, include_extras=True)
    except NameError as error:
        raise ConfigError(f"{where} has an annotation that is not imported: {error}") from error
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {
        each.name: make_parameter(each.name, hints.get(each.name, Any), each.default, where)
        for each in given
        if each.kind not in variadic
    }


def read_argument_texts(documented: object) -> Mapping[str, str]:
    """The `Args:` of a docstring: name -> what is said of it, on one line.

    A class whose docstring says nothing of a parameter has what its base classes say of it.
    """
    from docstring_parser import parse

    classes = reversed(documented.__mro__[:-1]) if isinstance(documented, type) else ()
    docstrings = [inspect.cleandoc(each.__doc__ or "") for each in classes] or [
        inspect.getdoc(documented) or ""
    ]
    parameters = [item for docstring in docstrings for item in parse(docstring).params]
    return {item.arg_name: " ".join((item.description or "").split()) for item in parameters}


def union_members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union; of anything else, itself."""
    return (
        get_args(annotation)
        if get_origin(annotation) in (Union, types.UnionType)
        else (annotation,)
    )


def make_parameter(name: str, annotation: Any, default: Any, where: str) -> Parameter:
    """Make a parameter of what stands in a signature; `where` names the constructor in messages.

    Raises ConfigError for a default that cannot be one, and for a stage of no group.
    """
    annotation, marks = _without_marks(annotation)
    members = union_members(annotation)
    stage = next(
        (each for each in members if inspect.isclass(each) and issubclass(each, Stage)), None
    )
    if stage and isinstance(default, str):
        raise ConfigError(
            f"{where}: the default of {name} names an option, and is written "
            f'{name}: {stage.__name__} = use("{default}")'
        )
    return Parameter(
        name=name,
        type=annotation,
        default=default,
        operational=any(isinstance(mark, Operational) or mark is Operational for mark in marks),
        group=_injected_group(stage, name) if stage else "",
        injects_store=any(map(_is_store, members)),
        limits=tuple(
            mark for mark in marks if any(hasattr(mark, name) for name in ("ge", "gt", "le", "lt"))
        ),
    )


def _is_store(annotation: Any) -> bool:
    """Whether this is the class of the store, told by its name: to import it takes long."""
    return inspect.isclass(annotation) and (annotation.__name__, annotation.__module__[:8]) == (
        "Store",
        "convrag.",
    )


def _without_marks(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation without `Annotated`, around it or around a member of a union, and what stood in
    it.
    """
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
    """The group to inject from: the parameter's own name where that is one of the class's groups,
    else the first.
    """
    groups: Mapping[str, None] = {
        group: None for group, cls in GROUPS.items() if issubclass(stage, cls)
    }
    if not groups:
        raise ConfigError(
            f"parameter {name!r} is annotated with {stage.__name__}, which belongs to no group"
        )
    return name if name in groups else options_group(next(iter(groups)))
