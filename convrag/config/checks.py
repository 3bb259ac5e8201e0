"""The checks of a composed configuration: names, keys, values and settings."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from omegaconf import DictConfig, OmegaConf

from convrag.api.errors import ConfigError, ConvragError
from convrag.api.groups import GROUPS, OPTION_KEY
from convrag.config.command import Command
from convrag.config.keys import check_keys, list_stages
from convrag.config.messages import explained
from convrag.config.settings import Settings
from convrag.config.variants import chooses_stage
from convrag.config.yaml_files import cite
from convrag.registry import plugins
from convrag.registry.schema import plain_value
from convrag.registry.values import check_value


def check_config(config: DictConfig, command: Command) -> None:
    """Check what Hydra has composed.

    Args:
        config: composed, with or without Hydra's own part.
        command: the command that composed it.

    Raises:
        PluginError: a chosen name is claimed by two distributions.
        ConfigError: nothing reads a key, or a value has the wrong type; the message names the file
            where a file set it.
    """
    registry = plugins.load().registry
    for key, name in command.chosen.items():
        if isinstance(name, str):
            registry.check_name(key.partition("@")[0], name)
    try:
        check_keys(config, registry, command.names)
        _check_stage_values(config)
        read_settings(config)
    except ConfigError as error:
        raise cite(error, command, getattr(error, "key", "")) from None


def read_settings(config: DictConfig) -> Settings:
    """Return the checked top-level settings of a configuration. Raises ConfigError."""
    names = [each.name for each in fields(Settings) if each.name in config]
    with explained(plugins.load().registry):
        plain = OmegaConf.to_container(OmegaConf.masked_copy(config, names), resolve=False)
        assert isinstance(plain, dict)
        values = {str(name): _resolve(config, str(name), plain[name]) for name in plain}
    return Settings(**values)


def _resolve(config: DictConfig, name: str, plain: Any) -> Any:
    """Return a setting with its references resolved; they may be to any part of it all."""
    if not _has_references(plain):
        return plain
    value = config[name]
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _check_stage_values(config: DictConfig) -> None:
    """Raise ConfigError for a value of the wrong type.

    Values that refer to others are checked when their stage is built, since the environment may
    lack a variable while the configuration is only shown.
    """
    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    for group in GROUPS:
        for place, node in list_stages(group, plain.get(group)):
            _check_stage(place, group, node)


def _check_stage(place: str, group: str, node: Any) -> None:
    """Check the values of a stage's configuration, and those of its own stages."""
    if not isinstance(node, Mapping) or OPTION_KEY not in node:
        return
    try:
        parameters = plugins.load().registry.get(group, str(node[OPTION_KEY])).parameters
    except ConvragError:
        return  # building the stage says why
    for name, value in node.items():
        parameter = parameters.get(str(name))
        if parameter is None:
            continue
        if parameter.group and chooses_stage(parameter, value):
            _check_stage(f"{place}.{name}", parameter.group, value)
        elif parameter.group and not _has_references(value):
            check_value(value, parameter.for_value(), f"{place}.{name}")
        elif value != "???" and not _has_references(value):
            default = plain_value(parameter.default)
            is_default = type(value) is type(default) and value == default
            if not is_default:
                check_value(value, parameter, f"{place}.{name}")


def _has_references(value: Any) -> bool:
    """Whether a value refers to another one, `${...}`, in some part of it."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, Mapping):
        return any(_has_references(each) for each in value.values())
    if isinstance(value, list):
        return any(_has_references(each) for each in value)
    return False
