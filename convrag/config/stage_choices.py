"""A stage for a stage by its plain name: `rewriter.clusterer=lsa` is Hydra's `clusterer@rewriter.clusterer=lsa`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from convrag.api.groups import GROUPS, SEVERAL
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

    With `multirun`, a value of a stage that is swept over becomes a sweep of one: Hydra composes once with the default
    stage, which may have no such parameter (`rewriter=mmr,dhrag rewriter.embedder=minilm`).

    Args:
        overrides: of a command line or of a grid; others than overrides (`--help`) stay as they are.
        registry: knows which parameters are stages.
        multirun: whether they are a grid's.
    """
    found = [_translate(override, registry) for override in overrides]
    return _sweep_of_one(found) if multirun else found


def _translate(argument: str, registry: Registry) -> str:
    override = _parse(argument)
    if override is None or override.sign == "~":
        return argument
    _, at, place = override.key.partition("@")
    if at:
        known = stage_at(place, registry) is not None
        return str(override._replace(sign="")) if known else argument
    wanted = stage_at(override.key, registry)
    if wanted is None or not _names_options(override.value or "", wanted, registry):
        return argument
    return f"{wanted}@{override.key}={override.value}"


def _parse(argument: str) -> Override | None:
    match = _OVERRIDE.fullmatch(argument)
    if match is None or argument.startswith("-"):
        return None
    return Override(match["sign"] or "", match["key"], match["value"])


def stage_at(place: str, registry: Registry) -> str | None:
    """The group of the stage that is injected at a place ("rewriter.clusterer"); None where there is none."""
    group, *path = place.split(".")
    if group in SEVERAL:
        path = path[1:]
    if group not in GROUPS or not path:
        return None
    for name in path:
        injected = registry.injected_groups(group)
        if name not in injected:
            return None
        group = injected[name]
    return group


def _names_options(value: str, group: str, registry: Registry) -> bool:
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
