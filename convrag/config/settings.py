"""Settings of a run besides its stages."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

from annotated_types import Ge

from convrag.api.errors import ConfigError, UnknownName
from convrag.registry.parameters import Parameter, make_parameter
from convrag.registry.values import check_value

DEFAULT_METRICS = ("ranking", "answers", "reference_free", "evidence")
"""The metrics of conf/config.yaml. One that finds nothing to measure is not mentioned while another
one measures by references.
"""

STAND_IN = "reference_free"
"""The default metric that needs neither relevance judgements nor reference answers."""

_COMMA = re.compile(r",(?![^()]*\))")  # outside of parentheses: SetF(beta=0.5, rel=2)

TOP_N = 5
"""The default of top_n; with a smaller top_k, all retrieved passages are shown."""

PRESETS = {
    "system": "what a published system chose",
    "seed": "the five systems' stages, with the llm and the retriever that the run has",
    "sweep": "ready grids",
}
"""The groups of YAML files that choose options of several groups (`+system=mmr`) -> their texts."""


def _setting(default: Any, text: str) -> Any:
    """Return a field with its default, and its text for --help."""
    return field(default=default, metadata={"help": text})


@dataclass
class StoreSettings:
    """Where results are kept from run to run."""

    path: str = _setting("outputs/store", "folder of what is remembered, indexes beside it")
    url: str | None = _setting(
        None,
        "a PostgreSQL database that remembers for many machines, "
        "postgresql+psycopg://user@host/database; indexes stay in store.path. A password is in "
        "PGPASSWORD",
    )

    def __post_init__(self) -> None:
        _check_fields(self, "store.")
        if not self.path.strip():
            raise ConfigError("store.path=: name a folder, as in store.path=outputs/store")


@dataclass
class SweepSettings:
    """Settings of a grid as a whole (`-m`)."""

    metric: Any = _setting(
        None,
        "the measure, or a list of measures, by which a grid's cells are compared; the first "
        "decides the order; unless given, one for each metric: nDCG@5, ROUGE-L and evidence_nDCG, "
        "or grounded_sentences for a data set without judgements and reference answers",
    )
    baseline: str | None = _setting(
        None, "overrides of the cell to compare with: rewriter=none+ranker=bm25"
    )
    sample: Annotated[int, Ge(1)] | None = _setting(
        None, "only so many cells of a grid, drawn at random"
    )
    seed: int = _setting(0, "of that draw")

    def __post_init__(self) -> None:
        _check_fields(self, "sweep.")


@dataclass
class Settings:
    """The top-level keys of the configuration; each field's `help` stands in --help and docs/.

    Raises:
        ConfigError: a value has the wrong type or is outside of its limits.
    """

    top_k: Annotated[int, Ge(1)] = _setting(10, "passages to retrieve per turn")
    top_n: Annotated[int, Ge(0)] = _setting(TOP_N, "of these, passages that the generator may see")
    history: Literal["generated", "gold", "none"] = _setting(
        "generated",
        "what a turn sees of earlier ones: generated (our answers), gold (reference answers) or "
        "none",
    )
    workers: Annotated[int, Ge(1)] = _setting(4, "conversations side by side")
    limit: Annotated[int, Ge(1)] | None = _setting(None, "only the first so many conversations")
    report: bool = _setting(
        True, "write report.html, which shows every turn of a run, or a grid, in a browser"
    )
    plugins: list[str] = field(
        default_factory=list,
        metadata={"help": "Python files that are plugins, loaded beside the installed ones"},
    )
    store: StoreSettings = field(default_factory=StoreSettings)
    sweep: SweepSettings = field(default_factory=SweepSettings)

    def __post_init__(self) -> None:
        _check_fields(self)
        for name in ("top_k", "top_n", "workers", "limit"):
            value = getattr(self, name)
            if value is not None and value > sys.maxsize:
                raise ConfigError(f"{name}={value}: it must be at most {sys.maxsize}")
        if self.top_n > max(self.top_k, TOP_N):
            raise ConfigError(
                f"top_n={self.top_n}: no more passages can be shown than "
                f"top_k={self.top_k} retrieves"
            )


def _check_fields(settings: Any, prefix: str = "") -> None:
    """Put the checked value of each field into its place. Raises ConfigError."""
    section: Any = type(settings)
    for name, parameter in _read_fields(section).items():
        value = getattr(settings, name)
        if not is_dataclass(parameter.type):
            if type(value) is not type(parameter.default) or value != parameter.default:
                setattr(settings, name, check_value(value, parameter, f"{prefix}{name}"))
        elif type(value) is not parameter.type:
            setattr(settings, name, _make_section(name, parameter.type, value))


def _make_section(name: str, section: Any, value: Any) -> Any:
    """Return a section of the settings for a dictionary. Raises ConfigError."""
    keys = [f"{name}.{each.name}" for each in fields(section)]
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name}={value}: it has settings of its own: {', '.join(keys)}")
    unknown = [f"{name}.{key}" for key in value if f"{name}.{key}" not in keys]
    if unknown:
        raise UnknownName("setting", unknown[0], keys)
    return section(**value)


@cache
def _read_fields(section: Any) -> Mapping[str, Parameter]:
    """Return the fields of a dataclass as parameters."""
    hints = get_type_hints(section, include_extras=True)
    parameters = {}
    for each in fields(section):
        default: Any = each.default
        if each.default_factory is not MISSING and not is_dataclass(hints[each.name]):
            default = each.default_factory()
        parameters[each.name] = make_parameter(
            each.name, hints[each.name], default, section.__name__
        )
    return parameters


def list_parameters(section: Any = Settings, prefix: str = "") -> dict[str, Parameter]:
    """Return the settings as parameters: "store.path" -> its type and its limits."""
    found: dict[str, Parameter] = {}
    for name, parameter in _read_fields(section).items():
        if is_dataclass(parameter.type):
            found |= list_parameters(parameter.type, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = parameter
    return found


def list_sections() -> dict[str, list[str]]:
    """Return the settings that have settings of their own: "store" -> ["path", "url"]."""
    return {
        name: [each.name for each in fields(parameter.type)]
        for name, parameter in _read_fields(Settings).items()
        if is_dataclass(parameter.type)
    }


def list_settings(section: Any = Settings, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield the settings: name ("store.path"), default, and the text of --help."""
    defaults = section()
    for each in fields(section):
        default = getattr(defaults, each.name)
        if is_dataclass(default):
            yield from list_settings(type(default), f"{prefix}{each.name}.")
        else:
            yield f"{prefix}{each.name}", default, each.metadata["help"]


def read_metric_names(value: Any) -> tuple[str, ...]:
    """Return the measures in a value of `sweep.metric`: a list, or names with commas between.

    Raises:
        ConfigError: the value is neither, or names a measure twice.
    """
    if isinstance(value, str):
        names: list[Any] = [name.strip() for name in _COMMA.split(value)]
    elif isinstance(value, Iterable):
        names = list(value)
    else:
        names = [] if value is None else [value]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ConfigError(
            f"sweep.metric={value}: it must name measures, each once, as [nDCG@5,ROUGE-L] does"
        )
    return tuple(names)
