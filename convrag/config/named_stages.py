"""Several stages in one parameter, each under a name: `rewriter.of=[mmr,blend]`, `rewriter.of={a: replay, b: replay}`.

Hydra composes each as a group at a place of its own: `+rewriter@rewriter.of.mmr=mmr`. A variant of an option brings
stages in its defaults list: `- /rewriter@of.mmr: mmr`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException
from omegaconf import OmegaConf

from convrag.api.errors import ConfigError
from convrag.config.settings import PRESETS
from convrag.config.variants import offered_files, yaml_packages

_NAME = re.compile(r"[A-Za-z_][\w-]*")


def name_stages(given: Any, group: str, place: str) -> dict[str, Any]:
    """The stages that a configuration gives a parameter: name -> what is chosen, in their order.

    Args:
        given: a mapping of names, a list of options, each of which is its own name, one option, or None. An entry that
            is None is left out: it takes away what a variant brings.
        group: of the stages.
        place: of the parameter ("rewriter.of"), for messages.

    Raises:
        ConfigError: a name occurs twice, or is none; or it is none of all these.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        named = [(str(name), node) for name, node in given.items() if node is not None]
    elif isinstance(given, Sequence):
        named = [(str(name), str(name)) for name in ([given] if isinstance(given, str) else given)]
    else:
        raise ConfigError(f"{place}={given}: name the {group} stages: {place}=[NAME,NAME,...]")
    for name, _ in named:
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{place}: {name!r} cannot be the name of a stage: it has letters, digits, _ and -")
        if [each for each, _ in named].count(name) > 1:
            raise ConfigError(
                f"{place}: {name} stands there twice. Two of one option have names of their own: "
                f"{place}='{{first: {name}, second: {name}}}'"
            )
    return dict(named)


def read_choices(value: str, group: str, place: str) -> dict[str, str] | None:
    """The options that a value of the command line names, by the names of the stages; None for any other value.

    Args:
        value: as it was typed: "[mmr,blend]", "{a: replay, b: replay}", "mmr".
        group: of the stages.
        place: of the parameter.

    Raises:
        ConfigError: the value is a grid of such lists, or a name occurs twice.
    """
    try:
        override = OverridesParser.create().parse_override(f"{place}={value}")
    except OverrideParseException:
        return None  # Hydra says what is wrong with it
    if override.is_sweep_override():
        raise ConfigError(
            f"{place}={value}: a grid has one list for all its cells; it can vary one stage ({place}.NAME=a,b), or "
            f"variants that have lists of their own"
        )
    given = override.value()
    items = given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given]
    if not items or not all(isinstance(item, str) and _NAME.fullmatch(item) for item in items):
        return None
    return name_stages(given, group, place)


def list_given(place: str, overrides: Iterable[str]) -> list[str]:
    """The names of the stages at a place ("rewriter.of") that the chosen variant brings, chosen by name or by a preset.

    Args:
        place: of the parameter.
        overrides: of the command.
    """
    group, _, parameter = place.partition(".")
    pairs = [override.lstrip("+").partition("=") for override in overrides]
    typed = [value for key, _, value in pairs if key == group]
    presets = [(key, value) for key, _, value in pairs if key in PRESETS]
    name = typed[-1] if typed else next((found for each in presets for found in _find_choice(*each, group)), "")
    return list(dict.fromkeys(_list_in_variant(group, name, parameter))) if name else []


def _find_choice(preset: str, name: str, group: str) -> Iterator[str]:
    """The option or variant of a group that a preset chooses."""
    for entry in _read_defaults(preset, name):
        for key, value in entry.items() if isinstance(entry, Mapping) else ():
            if str(key).removeprefix("override").strip() in (group, f"/{group}"):
                yield str(value)


def _list_in_variant(group: str, name: str, parameter: str) -> Iterator[str]:
    for entry in _read_defaults(group, name):
        if isinstance(entry, str) and entry != "_self_":
            yield from _list_in_variant(group, entry.partition("@")[0].rpartition("/")[2], parameter)
        for key in entry if isinstance(entry, Mapping) else ():
            at = str(key).partition("@")[2].removeprefix("_here_.").removeprefix(f"{group}.")
            if at.rpartition(".")[0] == parameter:
                yield at.rpartition(".")[2]


def _read_defaults(group: str, name: str) -> Sequence[Any]:
    """The defaults list of a variant or a preset; empty where there is no such file, or it cannot be read."""
    file = next((files[name] for package in yaml_packages() if name in (files := offered_files(package, group))), None)
    if file is None:
        return ()
    try:
        read = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    except Exception:  # Hydra says what is wrong with it when it is chosen
        return ()
    defaults = read.get("defaults") if isinstance(read, dict) else None
    return defaults if isinstance(defaults, list) else ()
