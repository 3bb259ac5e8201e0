"""A stage for a stage by its plain name: `rewriter.clusterer=lsa` is Hydra's `clusterer@rewriter.clusterer=lsa`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from convrag.api.groups import GROUPS, SEVERAL
from convrag.config.named_stages import list_given, read_choices
from convrag.registry.registry import Registry

_OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=\s]+)(?:=(?P<value>.*))?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w-]*")


class Override(NamedTuple):
    """One override, taken apart: "+", "clusterer@rewriter.clusterer", "lsa"; `value` is None where there is no "="."""

    sign: str
    key: str
    value: str | None

    def __str__(self) -> str:
        return f"{self.sign}{self.key}" + ("" if self.value is None else f"={self.value}")


def translate_overrides(overrides: Iterable[str], registry: Registry, *, multirun: bool = False) -> list[str]:
    """Overrides as users write them -> as Hydra reads them.

        rewriter.clusterer=lsa               -> clusterer@rewriter.clusterer=lsa
        +embedder@rewriter.embedder=minilm   -> embedder@rewriter.embedder=minilm
        rewriter.of=[mmr,blend]              -> +rewriter@rewriter.of.mmr=mmr +rewriter@rewriter.of.blend=blend
        rewriter.weights.mmr=2               -> ++rewriter.weights.mmr=2
        rewriter.weights={mmr: 2}            -> ++rewriter.weights={mmr: 2}

    With `multirun`, a value of a stage that is swept over becomes a sweep of one: Hydra composes once with the default
    stage, which may have no such parameter (`rewriter=mmr,dhrag rewriter.embedder=minilm`).

    Args:
        overrides: of a command line or of a grid; others than overrides (`--help`) stay as they are.
        registry: knows which parameters are stages.
        multirun: whether they are a grid's.

    Raises:
        ConfigError: a list of stages names one twice, or is a grid's factor.
    """
    overrides = list(overrides)
    found = [translated for override in overrides for translated in _translate(override, registry, overrides)]
    found = [each for number, each in enumerate(found) if not _is_chosen_again(each, found[number + 1 :])]
    return _sweep_of_one(found) if multirun else found


def _translate(argument: str, registry: Registry, overrides: Sequence[str]) -> list[str]:
    override = _parse(argument)
    if override is None:
        return [argument]
    _, at, place = override.key.rpartition("@")
    found = find_place(place, registry)
    if found is None:
        return [argument]
    if found.kind is Kind.STAGES and not at and override.value:
        choices = read_choices(override.value, found.group, place)
        return [argument] if choices is None else _choose_several(choices, found.group, place, overrides)
    adds = found.kind is Kind.ENTRY or (found.kind is Kind.VALUES and (override.value or "").startswith("{"))
    if adds and not override.sign and not at:
        return [f"++{argument}"]
    if found.kind is Kind.NAMED_STAGE and (at or override.sign == "~" or _names_options(override.value or "")):
        given = place.rpartition(".")[2] in list_given(place.rpartition(".")[0], overrides)
        sign = "~" if override.sign == "~" else "" if given else "+"
        return [str(Override(sign, f"{found.group}@{place}", override.value))]
    if found.kind is Kind.STAGE and override.sign != "~" and (at or _names_options(override.value or "")):
        return [str(Override("", override.key if at else f"{found.group}@{place}", override.value))]
    return [argument]


def _choose_several(choices: Mapping[str, str], group: str, place: str, overrides: Sequence[str]) -> list[str]:
    """Overrides that choose these stages by their names, and no others, though a variant may bring some."""
    given = list_given(place, overrides)
    left_out = [f"~{group}@{place}.{name}" for name in given if name not in choices]
    chosen = [f"{'' if name in given else '+'}{group}@{place}.{name}={option}" for name, option in choices.items()]
    return [*left_out, *chosen]


def _is_chosen_again(override: str, later: Iterable[str]) -> bool:
    """Whether a later override chooses the stage at the same place: Hydra refuses to add one twice."""
    key, equals, _ = override.partition("=")
    return (
        override.startswith("+") and "@" in key and bool(equals) and any(each.startswith(f"{key}=") for each in later)
    )


def _parse(argument: str) -> Override | None:
    match = _OVERRIDE.fullmatch(argument)
    if match is None or argument.startswith("-"):
        return None
    return Override(match["sign"] or "", match["key"], match["value"])


class Kind(Enum):
    """What stands at a place of a stage's configuration."""

    STAGE = "a stage"
    STAGES = "several stages, by their names"
    NAMED_STAGE = "one of several stages"
    VALUES = "a mapping of values"
    ENTRY = "an entry of a mapping of values"


class Place(NamedTuple):
    """What stands at a place, and of which group the stages there are (empty for a value)."""

    kind: Kind
    group: str


def stage_at(place: str, registry: Registry) -> str | None:
    """The group of the stage that is injected at a place ("rewriter.clusterer"); None where there is none."""
    found = find_place(place, registry)
    return found.group if found and found.kind in (Kind.STAGE, Kind.NAMED_STAGE) else None


def find_place(place: str, registry: Registry) -> Place | None:
    """What options of a group may have at a place: "rewriter.clusterer", "rewriter.of.mmr"; None for a plain value."""
    group, *path = place.split(".")
    if group in SEVERAL:
        path = path[1:]
    if group not in GROUPS:
        return None
    found = None
    while path:
        name, *path = path
        injected, mappings = registry.injected_groups(group), registry.list_mappings(group)
        if name not in injected:
            return Place(Kind.ENTRY if path else Kind.VALUES, "") if name in mappings else None
        group = injected[name]
        found = Place(Kind.STAGES if name in mappings else Kind.STAGE, group)
        if found.kind is Kind.STAGES and path:
            found, path = Place(Kind.NAMED_STAGE, group), path[1:]
    return found


def _names_options(value: str) -> bool:
    """Whether a value chooses options: a name, or a sweep over names. A dictionary or `null` does not."""
    names = value.removeprefix("choice(").removesuffix(")").split(",")
    return value != "null" and all(_NAME.fullmatch(name.strip()) for name in names)


def _sweep_of_one(overrides: Sequence[str]) -> list[str]:
    parsed = [_parse(override) for override in overrides]
    swept = {each.key for each in parsed if each and each.value and is_sweep(each.value)}
    return [
        str(each._replace(value=f"choice({each.value})")) if each and _belongs_to(each, swept) else override
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
    """Whether Hydra reads several values in one: `a,b`, `choice(...)`, `range(...)`, `interval(...)`, `glob(...)`."""
    if re.match(r"(choice|range|interval|glob|shuffle|sort|tag)\(", value):
        return True
    depth, quote = 0, ""
    for sign in value:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and not depth:
            return True
    return False
