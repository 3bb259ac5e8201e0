"""Keys of a configuration that nothing reads: a typing error that Hydra accepts after a plus, or in a YAML file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.settings import PRESETS, Settings
from convrag.config.variants import option_node
from convrag.registry.option import Option
from convrag.registry.parameters import union_members
from convrag.registry.registry import Registry

_REFERENCE = re.compile(r"\$\{\s*(?:oc\.select:\s*)?([\w.@]+)")


class UnknownKey(UnknownName):
    """A key that nothing reads; `key` is its full name."""

    def __init__(self, key: str, what: str, name: str, choices: Iterable[str], hints: Iterable[str] = ()) -> None:
        self.key = key
        super().__init__(what, name, choices)
        self.args = (" ".join([str(self), *hints]),)


def check_keys(config: DictConfig, registry: Registry, choices: Mapping[str, str] = MappingProxyType({})) -> None:
    """Refuse keys that neither convrag nor a stage nor another value of the configuration reads.

    Args:
        config: composed by Hydra, with or without its own part.
        registry: knows the options.
        choices: place -> the name by which the stage there was chosen, if another than its option's (see `Command`).

    Raises:
        UnknownKey: there is one; the message has a guess.
        ConfigError: a setting was deleted.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    references = set(_REFERENCE.findall(OmegaConf.to_yaml(config)))
    known = {*GROUPS, *(each.name for each in fields(Settings)), "hydra"}
    for key, value in plain.items():
        if key not in known and not _is_referred_to(str(key), references):
            raise explain_unknown_setting(str(key))
        if key in ("store", "sweep"):
            _check_section(str(key), value)
        elif key in SEVERAL and isinstance(value, Mapping):
            for name, node in value.items():
                _check_stage(f"{key}.{name}", str(key), node, registry, choices)
        elif key in GROUPS:
            _check_stage(str(key), str(key), value, registry, choices)
    if missing := [name for name in known - {"hydra"} - {*GROUPS} if name not in plain]:
        raise ConfigError(f"~{missing[0]}: a setting cannot be deleted. Give it a value: {missing[0]}=...")


def explain_unknown_setting(key: str) -> UnknownKey:
    """The error for a key at the top ("sysem"), or in a section ("sweep.dir")."""
    section, _, name = key.partition(".")
    hydra = [each.name for each in fields(HydraConf)]
    if section == "hydra":
        return UnknownKey(key, "setting", key, [f"hydra.{each}" for each in hydra])
    own = _sections().get(section)
    if own and name:
        return UnknownKey(key, "setting", key, [f"{section}.{each}" for each in own])
    if section in hydra:
        return UnknownKey(key, "setting", key, [f"hydra.{key}" if name else f"hydra/{key}"])
    hints = [
        f"A group of your own is a folder of YAML files: --config-dir=FOLDER, with FOLDER/{section}/NAME.yaml in it."
    ]
    if section in PRESETS:
        hints = ["A preset's file begins with the line '# @package _global_' to set other stages and settings."]
    choices = [*GROUPS, *(each.name for each in fields(Settings)), *(f"+{preset}" for preset in PRESETS)]
    return UnknownKey(key, "option", section, choices, hints)


def explain_unknown_parameter(place: str, option: Option, name: str, registry: Registry, typed: str = "") -> UnknownKey:
    """The error for a parameter that the stage at a place ("rewriter.clusterer") does not have.

    Args:
        place: of the stage.
        option: of the stage.
        name: of the parameter.
        registry: knows which other options have it.
        typed: the name by which the option was chosen ("claude"), if another than its own.
    """
    own, others = option.list_parameters(), registry.options(option.group).values()
    meant = name
    if not get_close_matches(name, own, n=1):
        everywhere = dict.fromkeys(parameter for each in others for parameter in each.list_parameters())
        meant = next(iter(get_close_matches(name, everywhere, n=1)), name)
    takers = [f"{place}={each.name}" for each in others if meant in each.list_parameters() and meant not in own]
    hints = [f"{place}.{meant} belongs to {', '.join(takers)}."] if takers else []
    return UnknownKey(f"{place}.{name}", f"{place}={typed or option.name}: parameter", name, own, hints)


def explain_unchosen(place: str, group: str, name: str, registry: Registry) -> ConfigError:
    """The error for a parameter of a stage's own stage where the stage has the run's ("rewriter.embedder")."""
    takers = [f"{place}={each.name}" for each in registry.options(group).values() if name in each.list_parameters()]
    known = f" {place}.{name} belongs to {', '.join(takers)}." if takers else ""
    return ConfigError(f"{place}.{name}=...: no {group} is chosen for {place}, which has the run's.{known}")


def _check_section(section: str, value: Any) -> None:
    if isinstance(value, Mapping) and (unknown := [key for key in value if key not in _sections()[section]]):
        raise explain_unknown_setting(f"{section}.{unknown[0]}")


def _check_stage(place: str, group: str, node: Any, registry: Registry, choices: Mapping[str, str]) -> None:
    """The keys of a stage's configuration, and of those of its own stages."""
    if not isinstance(node, Mapping) or OPTION_KEY not in node:
        return  # the wiring says what is wrong with it
    try:
        option = registry.get(group, str(node[OPTION_KEY]))
        parameters = option.parameters
    except UnknownName as error:
        raise UnknownKey(f"{place}.{OPTION_KEY}", group, error.name, error.choices) from None
    except ConvragError:
        return  # whoever builds the stage says why
    for key, value in node.items():
        if key == OPTION_KEY:
            continue
        if key not in option.configurable:
            raise explain_unknown_parameter(place, option, str(key), registry, choices.get(place, ""))
        if parameters[key].group:
            if isinstance(value, Mapping) and value and OPTION_KEY not in value:
                raise explain_unchosen(f"{place}.{key}", parameters[key].group, str(next(iter(value))), registry)
            if isinstance(value, str):
                _check_name(f"{place}.{key}", parameters[key].group, value)
            _check_stage(f"{place}.{key}", parameters[key].group, value, registry, choices)
        elif known := [each for each in union_members(parameters[key].type) if is_dataclass(each)]:
            names = [each.name for each in fields(known[0])]
            if isinstance(value, Mapping) and (unknown := [str(name) for name in value if name not in names]):
                raise UnknownKey(f"{place}.{key}.{unknown[0]}", f"{place}.{key}: key", unknown[0], names)


def _check_name(key: str, group: str, name: str) -> None:
    """A YAML file names the option of a stage's own stage: `rewriter: {clusterer: lsa}`."""
    try:
        option_node(group, name)
    except UnknownName as error:
        raise UnknownKey(key, f"{key}: {group}", error.name, error.choices) from None


def _is_referred_to(key: str, references: Iterable[str]) -> bool:
    """Whether another value is computed from a key, as `top_k: ${depth}` is from `depth`."""
    return any(reference.partition(".")[0] == key for reference in references)


def _sections() -> dict[str, list[str]]:
    """The settings that have settings of their own: "store" -> ["path"]."""
    nested = {each.name: each.default_factory for each in fields(Settings) if is_dataclass(each.default_factory)}
    return {name: [each.name for each in fields(cls)] for name, cls in nested.items()}  # type: ignore[arg-type]
