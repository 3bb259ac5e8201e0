"""The bridge to Hydra: registered options become config groups, and overrides become a configuration."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import field, fields, make_dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.plugins import Plugins as HydraPlugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict

from convrag.api.groups import GROUPS, SEVERAL
from convrag.config.messages import explained
from convrag.config.named_files import files_in_overrides
from convrag.config.settings import PRESETS, Settings
from convrag.config.stage_choices import translate_overrides
from convrag.registry import plugins
from convrag.registry.option import Option

VERSION_BASE = "1.3"
CONFIG_MODULE = "convrag.conf"
CONFIG_NAME = "config"
_configured: list[tuple[plugins.Plugins, dict[Path, str]]] = []
_composing = threading.Lock()


class OptionNode(ConfigNode):
    """An option in Hydra's store, whose schema is made when Hydra loads it: making all of them takes longer than Hydra.

    Args:
        group: where it is offered: rerankers are the rankers.
        option: what is offered.
    """

    def __init__(self, group: str, option: Option) -> None:
        package = f"{group}.{option.name}" if group in SEVERAL else None
        super().__init__(f"{option.name}.yaml", None, group, package, option.distribution)  # type: ignore[arg-type]
        self.option = option

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process go the names, and the files to load there: it cannot import what a file brought."""
        return _node, (tuple(plugins.load().files), self.group, self.option.group, self.option.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> OptionNode:
        twin = OptionNode(str(self.group), self.option)
        twin.node = deepcopy(self.node)
        return twin

    def __getattribute__(self, name: str) -> Any:
        """`node` is made at its first use; Hydra copies what it gets before it changes it."""
        if name == "node" and object.__getattribute__(self, "node") is None:
            self.node = OmegaConf.structured(self.option.schema)
        return object.__getattribute__(self, name)


def _node(files: Iterable[Path], group: str, offered: str, name: str) -> OptionNode:
    for file in files:
        plugins.load().add_file(file)
    return OptionNode(group, plugins.load().registry.get(offered, name))


class ConvragSearchPath(SearchPathPlugin):
    """Adds the plugins' YAML packages behind conf/."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra whenever it looks for configurations."""
        for package, distribution in plugins.load().config_packages.items():
            search_path.append(provider=distribution, path=f"pkg://{package}")


def configure(files: Iterable[Path] = ()) -> None:
    """Make every installed option known to Hydra, and those of plugin files; called again, only what is new.

    Raises ConvragError for a file that is no plugin.
    """
    loaded = plugins.load()
    for file in files:
        loaded.add_file(file)
    if any(known is loaded and held == loaded.files for known, held in _configured):
        return
    _configured[:] = [(loaded, dict(loaded.files))]
    # Hydra deep-copies the whole store for each group that it lists: seconds at eighty options. Nothing writes to the
    # copies, and load() copies each node that it hands out, so the store may as well be its own copy.
    ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
    HydraPlugins.instance().register(ConvragSearchPath)
    store = ConfigStore.instance()
    store.store(name="settings", node=_root_schema(), provider=plugins.FIRST_PARTY)
    for group in GROUPS:
        nodes = {f"{name}.yaml": OptionNode(group, option) for name, option in loaded.registry.options(group).items()}
        kept = {name: node for name, node in store.repo.get(group, {}).items() if not isinstance(node, OptionNode)}
        store.repo[group] = kept | nodes
    _claim_yaml_names(loaded)


def compose(*overrides: str) -> DictConfig:
    """The configuration that the command would run with these overrides ("rewriter=dhrag", "top_k=20").

    Raises ConfigError for what cannot be chosen or set. Callable from any thread.
    """
    configure(files_in_overrides(overrides))
    overrides = tuple(translate_overrides(overrides, plugins.load().registry))
    with _composing, explained(plugins.load().registry):
        with initialize_config_module(CONFIG_MODULE, version_base=VERSION_BASE, job_name="convrag"):
            config = hydra_compose(CONFIG_NAME, list(overrides), return_hydra_config=True)
        check_choices(config.hydra.runtime.choices)
        with open_dict(config):
            del config["hydra"]
        return config


def check_choices(choices: Mapping[str, Any]) -> None:
    """Raise PluginError where a chosen name is claimed by two distributions.

    Args:
        choices: Hydra's `runtime.choices`: group, or group@place, to name.
    """
    for group, name in choices.items():
        if isinstance(name, str):
            plugins.load().registry.check_name(group.partition("@")[0], name)


def variants(group: str) -> dict[str, str]:
    """The YAML variants of a group's options, ours and the plugins': name -> the comment at the head of the file."""
    found = {}
    for package in (CONFIG_MODULE, *plugins.load().config_packages):
        for (of, name), file in _yaml_files(package).items():
            if of == group:
                found[name] = _described(file.read_text(encoding="utf-8"))
    return found


def _described(text: str) -> str:
    """The first line of a YAML file's comment; Hydra wants a `# @package` line before it."""
    lines = [line.removeprefix("#").strip() for line in text.splitlines() if not line.startswith("# @")]
    return lines[0] if lines and text.startswith("#") else ""


def settings_of(config: DictConfig) -> Settings:
    """The checked top-level settings of a configuration. Raises ConfigError."""
    given = OmegaConf.masked_copy(config, [item.name for item in fields(Settings)])
    return Settings(**{str(name): value for name, value in given.items()})


def _root_schema() -> type:
    """The typed settings, and a place for each group."""
    return make_dataclass("Config", [(group, Any, field(default=None)) for group in GROUPS], bases=(Settings,))


def _claim_yaml_names(loaded: plugins.Plugins) -> None:
    """A plugin's YAML file that is named like an existing option would replace it unseen: contest the name."""
    taken = {
        (group, name): option.distribution
        for group in GROUPS
        for name, option in loaded.registry.options(group).items()
    }
    taken |= dict.fromkeys(_yaml_files(CONFIG_MODULE), plugins.FIRST_PARTY)
    for package, distribution in loaded.config_packages.items():
        for group, name in _yaml_files(package):
            if (holder := taken.get((group, name))) is not None:
                loaded.add_conflict(group, name, holder, distribution)
            taken[group, name] = distribution


@cache
def _yaml_files(package: str) -> dict[tuple[str, str], Traversable]:
    """Group and name -> the file of each variant that a package holds, in alphabetical order."""
    root = resources.files(package)
    groups = [group for group in (*GROUPS, *PRESETS) if root.joinpath(group).is_dir()]
    files = [(group, file) for group in groups for file in root.joinpath(group).iterdir()]
    named = {(group, f.name.removesuffix(".yaml")): f for group, f in files if f.name.endswith(".yaml")}
    return dict(sorted(named.items()))
