"""Overrides as users type them become Hydra's: `rewriter.clusterer=lsa` is
`clusterer@rewriter.clusterer=lsa`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from convrag.api.groups import GROUPS, SEVERAL
from convrag.registry.registry import Registry

APPLICATION = "convrag"
"""What the command is called among the applications of Hydra."""

_OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=\s]+)(?:=(?P<value>.*))?", re.DOTALL)
_STRUCTURED = re.compile(r"['\"\\{}()$]")
"""What values have that are quoted already, or are no texts."""

_ITEM = re.compile(r"[^\s,\[\]](?:[^,\[\]]*[^\s,\[\]])?")
"""An item of a list or a grid, or a value that is neither, without the spaces around it."""

_NAMES = re.compile(r"(?!null$)[A-Za-z_][\w-]*(\s*,\s*[A-Za-z_][\w-]*)*")


class Override(NamedTuple):
    """One override, taken apart: "+", "clusterer@rewriter.clusterer", "lsa"; `value` is None where
    there is no "=".
    """

    sign: str
    key: str
    value: str | None

    def __str__(self) -> str:
        return f"{self.sign}{self.key}" + ("" if self.value is None else f"={self.value}")


def quote_value(override: str) -> str:
    """Put what of an override's value Hydra could not read into quotation marks; a second time
    changes nothing.

        dataset.path=~/Übungen             -> dataset.path='~/Übungen'
        dataset.path=[~/wiki, notes.txt]   -> dataset.path=['~/wiki', notes.txt]
        sweep.baseline=rewriter=none       -> sweep.baseline='rewriter=none'
        sweep.metric=nDCG@5,ROUGE-L        -> sweep.metric='nDCG@5,ROUGE-L'

    The last one would be a factor of the grid otherwise.
    """
    key, equals, value = override.partition("=")
    sign = {"sweep.baseline": "=", "sweep.metric": ","}.get(key)
    if sign and sign in value and value[0] not in "'\"[":
        return f"{key}='{value}'"
    return (
        override if _STRUCTURED.search(value) else f"{key}{equals}{_ITEM.sub(_quote_item, value)}"
    )


def _quote_item(found: re.Match[str]) -> str:
    """Quote an item of a value if it has a sign that Hydra cannot read without: a letter that is
    not of ASCII, or ~.
    """
    return f"'{found[0]}'" if "~" in found[0] or not found[0].isascii() else found[0]


def translate_overrides(
    overrides: Iterable[str], registry: Registry, *, multirun: bool = False
) -> list[str]:
    """Overrides as users write them -> as Hydra reads them.

        rewriter.clusterer=lsa               -> clusterer@rewriter.clusterer=lsa
        +embedder@rewriter.embedder=minilm   -> embedder@rewriter.embedder=minilm
        llm.extra.api_version=1              -> ++llm.extra.api_version=1
        dataset.columns={id: key}            -> ++dataset.columns={id: key}

    With `multirun`, a value of a stage that is swept over becomes a sweep of one: Hydra composes
    once with the default stage, which may have no such parameter (`rewriter=mmr,dhrag
    rewriter.embedder=minilm`).

    Args:
        overrides: of a command line or of a grid; others than overrides stay as they are.
        registry: knows which parameters are stages.
        multirun: whether they are a grid's.
    """
    found = [_translate(override, registry) for override in overrides]
    return _sweep_of_one(found) if multirun else found


def _translate(argument: str, registry: Registry) -> str:
    override = _parse(argument)
    if override is None or not override.value:
        return argument
    at, place = "@" in override.key, override.key.rpartition("@")[2]
    group, inner = _follow(place, registry)
    if group and not inner:
        if override.sign != "~" and (at or _names_options(override.value)):
            return str(Override("", override.key if at else f"{group}@{place}", override.value))
    elif (
        inner
        and not at
        and not override.sign
        and (len(inner) > 1 or override.value.startswith("{"))
    ):
        return f"++{argument}"
    return argument


def _parse(argument: str) -> Override | None:
    match = _OVERRIDE.fullmatch(argument)
    if match is None or argument.startswith("-"):
        return None
    return Override(match["sign"] or "", match["key"], match["value"])


def stage_at(place: str, registry: Registry) -> str:
    """The group of the stage that is injected at a place ("rewriter.clusterer"); empty where there
    is none.
    """
    group, inner = _follow(place, registry)
    return "" if inner else group


def _follow(place: str, registry: Registry) -> tuple[str, list[str]]:
    """Follow a place from stage to stage: "rewriter.clusterer.n" -> ("clusterer", ["n"]).

    Returns:
        The group of the last injected stage (of the first one, where a value stands there), and the
        names behind it. Both are empty for a place that begins with no group, and for a group
        itself.
    """
    group, *path = place.split(".")
    if group not in GROUPS:
        return "", []
    path = path[1:] if group in SEVERAL else path
    stage = ""
    while path and (injected := registry.injected_groups(group).get(path[0])):
        stage = group = injected
        path = path[1:]
    return stage or (group if path else ""), path


def _names_options(value: str) -> bool:
    """Whether a value chooses options: a name, or a sweep over names. A dictionary or `null` does
    not.
    """
    return bool(_NAMES.fullmatch(value.removeprefix("choice(").removesuffix(")").strip()))


def _sweep_of_one(overrides: Sequence[str]) -> list[str]:
    parsed = [_parse(override) for override in overrides]
    swept = {each.key for each in parsed if each and each.value and is_sweep(each.value)}
    return [
        str(each._replace(value=f"choice({each.value})"))
        if each and _belongs_to(each, swept)
        else override
        for each, override in zip(parsed, overrides, strict=True)
    ]


def _belongs_to(override: Override, swept: set[str]) -> bool:
    """Whether an override sets something of a stage that is swept over, and is no sweep itself."""
    if override.sign or not override.value or is_sweep(override.value) or "${" in override.value:
        return False
    place = override.key.partition("@")[2] or override.key
    stages = {key.partition("@")[2] or key for key in swept}
    return any(place.startswith(f"{stage}.") for stage in stages)


def is_sweep(value: str) -> bool:
    """Whether Hydra reads several values in one: `a,b`, `choice(...)`, `range(...)`,
    `interval(...)`, `glob(...)`.
    """
    if re.match(r"(choice|range|interval|glob|shuffle|sort|tag)\(", value):
        return True
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", value)
    while (shorter := re.sub(r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}", "", bare)) != bare:
        bare = shorter
    return "," in bare


def read_running() -> Any:
    """Hydra's part of the configuration of the command that is being carried out; None in another
    application.
    """
    from hydra.core.hydra_config import HydraConfig  # tab completion does without
    from hydra.core.utils import JobRuntime

    ours = HydraConfig.initialized() and JobRuntime().get("name") == APPLICATION
    return HydraConfig.get() if ours else None


@dataclass(frozen=True)
class Command:
    """A command.

    Args:
        overrides: as Hydra reads them: "rewriter=mmr", "clusterer@rewriter.clusterer=lsa".
        chosen: group, or group@place, -> the name that was chosen, which may be a variant's ("llm"
            -> "claude").
        in_grid: whether it is one cell of many.
    """

    overrides: Sequence[str] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    in_grid: bool = False

    @classmethod
    def read(cls) -> Command:
        """The command of convrag that is being carried out; an empty one outside of a command."""
        hydra = read_running()
        if hydra is None:
            return cls()
        return cls(
            [*hydra.overrides.task], {**hydra.runtime.choices}, hydra.mode.name == "MULTIRUN"
        )

    @classmethod
    def of(cls, overrides: Sequence[str]) -> Command:
        """The command with these overrides, before it is composed: names are what they say."""
        pairs = [override.lstrip("+").partition("=") for override in overrides]
        return cls(
            overrides,
            {key: name for key, _, name in pairs if name.replace("-", "_").isidentifier()},
        )

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Place ("llm", "rewriter.clusterer") -> the name of the option or the variant that was
        chosen there.
        """
        places = {key.partition("@")[2] or key: name for key, name in self.chosen.items()}
        return {place: name for place, name in places.items() if isinstance(name, str) and name}

    def sets(self, key: str) -> bool:
        """Whether an override of the command sets a key ("rewriter.n") or a part of it.

        One that chooses an option does not set its parameters: these may come from a file.
        """
        return any(_sets(override, key) for override in self.overrides)


def place_of(override: str) -> str:
    """The key that an override sets: "rewriter.clusterer" of `clusterer@rewriter.clusterer=lsa`."""
    key = override.partition("=")[0].lstrip("+~").strip()
    return key.partition("@")[2] or key


def _sets(override: str, key: str) -> bool:
    place = place_of(override)
    chooses = place in GROUPS or "@" in override.partition("=")[0]
    return f"{place}.".startswith(f"{key}.") or (key.startswith(f"{place}.") and not chooses)
