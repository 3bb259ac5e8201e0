"""The options as configurations that Hydra loads, typed by their classes when they are chosen.

They reach Hydra by its plugin interface for sources of configurations. Its own store, its search
path and its GlobalHydra stay as they are, since they may belong to an application that uses convrag
as a library.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins as HydraPlugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf

from convrag.api.groups import GROUPS, SEVERAL, options_group
from convrag.config.settings import Settings
from convrag.config.variants import CONFIG_MODULE, offered_files, yaml_files, yaml_packages
from convrag.config.yaml_files import read_yaml
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.schema import make_field, make_structured

SETTINGS = "settings"
"""The name of the configuration that has the settings, and a place for each group."""


@dataclass
class OptionNode:
    """A configuration that is made at its first use: making all of them takes longer than Hydra
    does.

    Args:
        package: where it goes in the configuration; None for the place of its group.
        distribution: brings it.
        make: makes the configuration.
    """

    package: str | None
    distribution: str
    make: Callable[[], DictConfig]

    @cached_property
    def config(self) -> DictConfig:
        """The configuration."""
        return self.make()


class OptionSource(ConfigSource):
    """Gives Hydra the configurations of all options, by "group/name" (see `list_nodes`)."""

    @staticmethod
    def scheme() -> str:
        """Return the beginning of its address, "convrag://"."""
        return "convrag"

    def available(self) -> bool:
        """Called by Hydra."""
        return True

    def load_config(self, config_path: str) -> ConfigResult:
        """Return a copy, since Hydra changes what it loads."""
        group, name = _split(config_path)
        node = load_options()[group][name]
        return ConfigResult(
            provider=node.distribution,
            path=f"{self.scheme()}://",
            config=deepcopy(node.config),
            header={"package": node.package},
        )

    def is_group(self, config_path: str) -> bool:
        """Whether options are offered in a group."""
        return config_path.rstrip("/") in load_options()

    def is_config(self, config_path: str) -> bool:
        """Whether there is an option of this group and name."""
        group, name = _split(config_path)
        return name in load_options().get(group, {})

    def list(self, config_path: str, results_filter: ObjectType | None) -> builtins.list[str]:
        """Return the names of a group's options."""
        if results_filter is ObjectType.GROUP:
            return []
        return sorted(load_options().get(config_path.rstrip("/"), {}))


def _split(config_path: str) -> tuple[str, str]:
    """Return the group and the name of "rewriter/dhrag.yaml"."""
    group, _, name = config_path.rstrip("/").rpartition("/")
    return group, name.removesuffix(".yaml")


OptionNodes = dict[str, dict[str, OptionNode]]
"""Group -> name -> the node; the settings are in the group ""."""

_loading = threading.RLock()
_loaded: list[tuple[plugins.Plugins, dict[Path, str], OptionNodes]] = []


def load_options(files: Iterable[Path] = ()) -> OptionNodes:
    """Load plugin files, and return the nodes of all options; called again, only what is new.

    Args:
        files: plugins that are single files.

    Raises:
        ConvragError: a file cannot be loaded as a plugin.
    """
    with _loading:
        loaded = plugins.load()
        for file in files:
            loaded.add_file(file)
        if _loaded:
            known, known_files, nodes = _loaded[0]
            if known is loaded and known_files == loaded.files:
                return nodes
        HydraPlugins.instance().register(OptionSource)
        nodes = {group: dict(_make_nodes(group)) for group in GROUPS}
        nodes[""] = {SETTINGS: OptionNode(None, plugins.FIRST_PARTY, _make_settings)}
        _loaded[:] = [(loaded, dict(loaded.files), nodes)]
        _claim_yaml_names(loaded)
        return nodes


def forget() -> None:
    """Make the nodes anew at the next call of `load_options`, for tests."""
    with _loading:
        _loaded.clear()


def make_option_config(option: Option) -> DictConfig:
    """Return an option's parameters with the defaults of its class, which is imported for that.

    Raises:
        ConvragError: the class cannot be an option.
    """
    config: DictConfig = OmegaConf.structured(option.schema)
    return config


def _make_nodes(group: str) -> Iterator[tuple[str, OptionNode]]:
    """Yield what a group offers besides the files in folders of its name.

    Rerankers are rankers, so they have the files of rankers, too.
    """
    if group != options_group(group):
        for package, distribution in reversed(yaml_packages().items()):
            for name, file in offered_files(package, options_group(group)).items():
                yield name, OptionNode(None, distribution, partial(read_yaml, file))
    for name, option in plugins.load().registry.options(group).items():
        place = f"{group}.{name}" if group in SEVERAL else None
        yield name, OptionNode(place, option.distribution, partial(make_option_config, option))


def _make_settings() -> DictConfig:
    """Return the settings with their defaults, and a place for each group."""
    groups = [(group, Any, field(default=None)) for group in GROUPS]
    config: DictConfig = OmegaConf.structured(
        make_structured("Config", [*_list_settings(Settings), *groups])
    )
    return config


def _list_settings(section: type) -> list[tuple[str, Any, Any]]:
    """Return the fields of a section of the settings, untyped: `Settings` checks the values."""
    members = []
    defaults = section()
    for each in fields(section):
        default = getattr(defaults, each.name)
        if is_dataclass(default):
            made = make_structured(type(default).__name__, _list_settings(type(default)))
            members.append((each.name, Any, field(default_factory=made)))
        else:
            members.append((each.name, Any, make_field(default)))
    return members


def _claim_yaml_names(loaded: plugins.Plugins) -> None:
    """Contest the name of a plugin's YAML file that an option has: the file would replace it
    unseen.
    """
    holders = dict.fromkeys(yaml_files(CONFIG_MODULE), plugins.FIRST_PARTY)
    for group in GROUPS:
        for name, option in loaded.registry.options(group).items():
            holders.setdefault((group, name), option.distribution)
    for package, distribution in loaded.config_packages.items():
        for group, name in yaml_files(package):
            if (group, name) in holders:
                loaded.add_conflict(group, name, holders[group, name], distribution)
            holders[group, name] = distribution
