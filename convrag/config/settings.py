"""What a user can set about a run besides its stages."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

from convrag.api.errors import ConfigError, UnknownName

DEFAULT_METRICS = ("ranking", "answers", "reference_free", "evidence")
"""The metrics of conf/config.yaml. One that finds nothing to measure is no news while a metric of
truth measures.
"""

STAND_IN = "reference_free"
"""Of these, the one that measures where the data set has neither relevance judgements nor reference
answers.
"""

_COMMA = re.compile(r",(?![^()]*\))")  # none within parentheses: SetF(beta=0.5, rel=2)

TOP_N = 5
"""The default of top_n; with a smaller top_k, all that was retrieved is shown."""

HISTORIES = ("generated", "gold", "none")

PRESETS = {
    "system": "what a published system chose",
    "seed": "the five systems' stages, with the llm and the retriever that the run has",
    "sweep": "ready grids",
}
"""Groups of YAML files that choose options of several groups (`+system=mmr`), and what they are."""


def _setting(default: Any, text: str) -> Any:
    """A setting with its default, and what --help says of it."""
    return field(default=default, metadata={"help": text})


@dataclass
class StoreSettings:
    """Where results are kept from run to run."""

    path: str = _setting("outputs/store", "folder of what is remembered, indexes beside it")
    url: str | None = _setting(
        None,
        "a PostgreSQL database that remembers for many machines, postgresql+psycopg://user@host/database; "
        "indexes stay in store.path. A password is in PGPASSWORD",
    )


@dataclass
class SweepSettings:
    """What concerns a grid as a whole (`-m`)."""

    metric: Any = _setting(
        None,
        "the measure, or a list of measures, by which a grid's cells are compared; the first decides the "
        "order; unless given, one for each metric: nDCG@5, ROUGE-L and evidence_nDCG, or grounded_sentences for "
        "a data set without judgements and reference answers",
    )
    baseline: str | None = _setting(
        None, "overrides of the cell to compare with: rewriter=none+ranker=bm25"
    )
    sample: int | None = _setting(None, "only so many cells of a grid, drawn at random")
    seed: int = _setting(0, "of that draw")


@dataclass
class Settings:
    """The top-level keys of the configuration; each field's `help` stands in --help and docs/."""

    top_k: int = _setting(10, "passages to retrieve per turn")
    top_n: int = _setting(TOP_N, "of these, passages that the generator may see")
    history: str = _setting(
        "generated",
        "what a turn sees of earlier ones: generated (our answers), gold (reference answers) or none",
    )
    workers: int = _setting(4, "conversations side by side")
    limit: int | None = _setting(None, "only the first so many conversations")
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
        if self.history not in HISTORIES:
            raise UnknownName("history: value", str(self.history), HISTORIES)
        for name, least in (("top_k", 1), ("top_n", 0), ("workers", 1), ("limit", 1)):
            value: Any = getattr(self, name)
            if isinstance(value, int) and value < least:
                raise ConfigError(f"{name}={value}: it must be at least {least}")
            if isinstance(value, int) and value > sys.maxsize:
                raise ConfigError(f"{name}={value}: it must be at most {sys.maxsize}")
        if isinstance(self.top_n, int) and self.top_n > max(self.top_k, TOP_N):
            raise ConfigError(
                f"top_n={self.top_n}: no more passages can be shown than top_k={self.top_k} retrieves"
            )
        if not self.store.path.strip():
            raise ConfigError("store.path=: name a folder, as in store.path=outputs/store")


def list_settings(settings: Any = Settings, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """List the settings: name ("store.path"), default, and what --help says."""
    for each in fields(settings):
        if is_dataclass(each.default_factory):
            yield from list_settings(each.default_factory, f"{prefix}{each.name}.")
        else:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            yield f"{prefix}{each.name}", default, each.metadata["help"]


def read_metric_names(value: Any) -> tuple[str, ...]:
    """The measures in a value of `sweep.metric`: a list, or a text with commas between names; empty
    for None.

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
