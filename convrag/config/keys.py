"""The keys of a configuration: those that nothing reads are refused, with a guess.

Hydra accepts a typing error after a plus, or in a YAML file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, ConvragError, UnknownName
from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL
from convrag.config.settings import PRESETS, Settings, list_sections
from convrag.config.variants import chooses_stage, option_node
from convrag.registry.option import Option
from convrag.registry.registry import Registry

_REFERENCE = re.compile(r"\$\{\s*(?:oc\.select:\s*)?([\w.@]+)")


class UnknownKey(UnknownName):
    """A key that nothing reads; `key` is its full name."""

    def __init__(
        self, key: str, what: str, name: str, choices: Iterable[str], hints: Iterable[str] = ()
    ) -> None:
        self.key = key
        super().__init__(what, name, choices)
        self.args = (" ".join([str(self), *hints]),)


def check_keys(
    config: DictConfig, registry: Registry, choices: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Refuse keys that neither convrag nor a stage nor another value of the configuration reads.

    Args:
        config: composed by Hydra, with or without its own part.
        registry: knows the options.
        choices: place -> the name by which the stage there was chosen, if another than its option's
            (see `Command`).

    Raises:
        UnknownKey: there is one; the message has a guess.
        ConfigError: a setting was deleted.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    references = _REFERENCE.findall(OmegaConf.to_yaml(config))
    referenced = {reference.partition(".")[0] for reference in references}
    settings = [each.name for each in fields(Settings)]
    known = {*GROUPS, *settings, "hydra", *referenced}
    for key, value in plain.items():
        if key not in known:
            raise explain_unknown_setting(str(key))
        if key in GROUPS:
            for place, node in list_stages(str(key), value):
                _refuse_unchosen(place, str(key), node)
                _check_stage(place, str(key), node, registry, choices)
        else:
            _check_section(str(key), value)
    deleted = [name for name in settings if name not in plain]
    if deleted:
        name = deleted[0]
        raise ConfigError(f"~{name}: a setting cannot be deleted. Give it a value: {name}=...")


def list_stages(group: str, node: Any) -> list[tuple[str, Any]]:
    """Return the places of a group's stages with their configurations.

    There is one, "rewriter"; a group that allows several has places like "metrics.ranking".
    """
    if group not in SEVERAL:
        return [(group, node)]
    if not isinstance(node, Mapping):
        return []
    return [(f"{group}.{name}", inner) for name, inner in node.items()]


def _refuse_unchosen(place: str, group: str, node: Any) -> None:
    """Raise ConfigError where a group of several options has an entry that chooses none."""
    is_option = isinstance(node, Mapping) and OPTION_KEY in node
    if group in SEVERAL and not is_option:
        name = place.partition(".")[2]
        raise ConfigError(
            f"{place}: this chooses no option of {group}: {group}=[...,{name}] does, or a YAML "
            f"file that begins with '# @package {group}.<name>'"
        )


def _check_section(key: str, value: Any) -> None:
    """Check the keys of a section of the settings ("store")."""
    names = list_sections().get(key)
    if names is None or not isinstance(value, Mapping):
        return
    unknown = [name for name in value if name not in names]
    if unknown:
        raise explain_unknown_setting(f"{key}.{unknown[0]}")


def _check_stage(
    place: str, group: str, node: Any, registry: Registry, choices: Mapping[str, str]
) -> None:
    """Check the keys of a stage's configuration, and those of its own stages."""
    if not isinstance(node, Mapping) or OPTION_KEY not in node:
        return  # the wiring says what is wrong with it
    try:
        option = registry.get(group, str(node[OPTION_KEY]))
        parameters = option.parameters
    except UnknownName as error:
        raise UnknownKey(f"{place}.{OPTION_KEY}", group, error.name, error.choices) from None
    except ConvragError:
        return  # building the stage says why
    for key, value in node.items():
        if key == OPTION_KEY:
            continue
        if key not in option.configurable:
            typed = choices.get(place, "")
            raise explain_unknown_parameter(place, option, str(key), registry, typed)
        inner_place = f"{place}.{key}"
        inner_group = parameters[key].group
        if inner_group and chooses_stage(parameters[key], value):
            _check_injected(inner_place, inner_group, value)
            _check_stage(inner_place, inner_group, value, registry, choices)


def _check_injected(place: str, group: str, value: Any) -> None:
    """Check the value at the place of a stage's own stage."""
    if isinstance(value, Mapping) and value and OPTION_KEY not in value:
        raise explain_unchosen(place, group, str(next(iter(value))))
    if isinstance(value, str):  # a YAML file names the option: `rewriter: {clusterer: lsa}`
        try:
            option_node(group, value)
        except UnknownName as error:
            raise UnknownKey(place, f"{place}: {group}", error.name, error.choices) from None


def explain_unknown_setting(key: str) -> ConfigError:
    """Make the error for a key at the top ("sysem"), or in a section ("sweep.dir")."""
    section, _, name = key.partition(".")
    sections = {**list_sections(), "hydra": [each.name for each in fields(HydraConf)]}
    if name and section in sections:
        choices = [f"{section}.{each}" for each in sections[section]]
        return UnknownKey(key, "setting", key, choices)
    settings = [each.name for each in fields(Settings)]
    if name and section in settings:
        return ConfigError(f"{key}: {section} is a single value: {section}=...")
    if section in PRESETS:
        hint = (
            "A preset's file begins with the line '# @package _global_' to set other stages and "
            "settings."
        )
    else:
        hint = (
            "A group of your own is a folder of YAML files: --config-dir=FOLDER, with "
            f"FOLDER/{section}/NAME.yaml in it."
        )
    presets = [f"+{preset}" for preset in PRESETS]
    return UnknownKey(key, "option", section, [*GROUPS, *settings, *presets], [hint])


def explain_unknown_parameter(
    place: str, option: Option, name: str, registry: Registry, typed: str = ""
) -> UnknownKey:
    """Make the error for a parameter that the stage at a place does not have.

    Args:
        place: the place of the stage ("rewriter.clusterer").
        option: the stage's option.
        name: the parameter.
        registry: knows which other options have it.
        typed: the name by which the option was chosen ("claude"), if another than its own.
    """
    own = option.list_parameters()
    others = registry.options(option.group).values()
    meant = name
    if not get_close_matches(name, own, n=1):
        everywhere = dict.fromkeys(each for other in others for each in other.list_parameters())
        similar = get_close_matches(name, everywhere, n=1)
        meant = similar[0] if similar else name
    hints = []
    if meant not in own:
        takers = [f"{place}={each.name}" for each in others if meant in each.list_parameters()]
        if takers:
            hints = [f"{place}.{meant} belongs to {', '.join(takers)}."]
    subject = f"{place}={typed or option.name}: parameter"
    return UnknownKey(f"{place}.{name}", subject, name, own, hints)


def explain_unchosen(place: str, group: str, name: str) -> ConfigError:
    """Make the error for a parameter of a stage's own stage where the stage has the run's."""
    return ConfigError(
        f"{place}.{name}=...: no {group} is chosen for {place}, which has the run's: "
        f"{group}.{name}=..."
    )


def explain_unknown_place(key: str, registry: Registry) -> ConfigError:
    """Make the error for a stage that is chosen for one which takes none.

    The key is in Hydra's words: "clusterer@rewriter.clusterer".
    """
    wanted, _, place = key.partition("@")
    group, _, name = place.partition(".")
    if group not in GROUPS:
        return UnknownName("option", group, GROUPS)
    options = registry.options(group).values()
    takers = [f"{group}={each.name}" for each in options if name in each.injected_groups()]
    return ConfigError(
        f"{place}=...: the chosen {group} takes no {wanted} of its own. "
        f"It belongs to {', '.join(takers) or 'no option'}."
    )
