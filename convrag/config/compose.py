"""The bridge to Hydra: registered options become config groups, and overrides become a configuration."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, fields, make_dataclass
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir, initialize_config_module
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins as HydraPlugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS, options_group
from convrag.config.choices import Command, quote_value, translate_overrides
from convrag.config.known_keys import check_keys
from convrag.config.messages import check_choices, explained
from convrag.config.nodes import LazyNode, OptionNode, VariantNode
from convrag.config.secret_checks import refuse_secrets, refuse_secrets_in_command
from convrag.config.settings import Settings
from convrag.config.variants import CONFIG_MODULE as CONFIG_MODULE
from convrag.config.variants import offered_files, yaml_files, yaml_packages
from convrag.config.variants import variants as variants
from convrag.config.yaml_files import cite, read_yaml, user_folder
from convrag.registry import plugins

VERSION_BASE = "1.3"
CONFIG_NAME = "config"
_configured: list[tuple[plugins.Plugins, dict[Path, str], bool]] = []
_configuring = threading.RLock()
_composing = threading.Lock()


class ConvragSearchPath(SearchPathPlugin):
    """Adds the plugins' YAML packages behind conf/, and the folder of --config-dir behind these."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra whenever it looks for configurations."""
        for package, distribution in plugins.load().config_packages.items():
            search_path.append(provider=distribution, path=f"pkg://{package}")
        if user_folder.path:
            search_path.append(provider="command-line", path=f"file://{user_folder.path}")


def use_folder(folder: str | None, config_name: str | None) -> None:
    """Look for configurations in a folder (--config-dir), and start from one of them (--config-name), if given.

    Raises ConfigError where there is no such folder.
    """
    path = Path(folder).absolute() if folder else None
    if path and not path.is_dir():
        raise ConfigError(f"--config-dir {folder}: there is no such folder")
    user_folder.path, user_folder.config_name = path, config_name or ""


def initialize_hydra(config_path: str | None = None) -> AbstractContextManager[None]:
    """Hydra, in a block, with convrag's configurations; with --config-path, with those of a folder in their place."""
    if config_path:
        return initialize_config_dir(str(Path(config_path).absolute()), "convrag", VERSION_BASE)
    return initialize_config_module(CONFIG_MODULE, "convrag", VERSION_BASE)


def find_plugin_files(overrides: Iterable[str]) -> list[Path]:
    """The plugin files that a command names, which are loaded before Hydra composes.

    Those of the file of --config-name are relative to it, those of overrides (`plugins=[my_plugin.py]`) to the current
    folder. Raises ConfigError for what is no list.
    """
    file = user_folder.path and user_folder.path / f"{user_folder.config_name.removesuffix('.yaml')}.yaml"
    found: list[tuple[Path, Any, str]] = []
    if file and user_folder.config_name and file.is_file():
        found += [(file.parent, OmegaConf.select(read_yaml(file), "plugins"), f"{file}: ")]
    for override in overrides:
        key, equals, value = override.lstrip("+").partition("=")
        if key == "plugins" and equals:
            names = [name.strip().strip("'\"") for name in value.strip("[]").split(",")]
            found += [(Path(), [*filter(None, names)] if value.startswith("[") else value, "")]
    for _, names, where in found:
        if not isinstance(names, list | ListConfig | None) or not all(isinstance(name, str) for name in names or ()):
            raise ConfigError(f"{where}plugins={names}: this is a list of Python files, as in plugins=[my_plugin.py]")
    return [(folder / name).absolute() for folder, names, _ in found for name in names or ()]


def configure(files: Iterable[Path] = (), *, for_help: bool = False) -> None:
    """Make every installed option known to Hydra, and those of plugin files; called again, only what is new.

    Args:
        files: plugins that are single files.
        for_help: whether a help text is all that is wanted: parameters are then read from the source, untyped, and no
            class is imported.

    Raises:
        ConvragError: a file is no plugin.
    """
    with _configuring:
        loaded = plugins.load()
        for file in files:
            loaded.add_file(file)
        wanted = (loaded, dict(loaded.files), for_help)
        if _configured and _configured[0][0] is loaded and _configured[0][1:] == wanted[1:]:
            return
        _configured.clear()
        _tell_hydra(loaded, for_help=for_help)
        _configured.append(wanted)


def forget() -> None:
    """Configure Hydra anew at the next call of `configure`, for tests."""
    with _configuring:
        _configured.clear()


def _tell_hydra(loaded: plugins.Plugins, *, for_help: bool) -> None:
    """Put the settings and a node for each option into Hydra's store, and the plugins' YAML on its search path."""
    # Hydra deep-copies the whole store for each group that it lists: seconds at eighty options. Nothing writes to the
    # copies, and load() copies each node that it hands out, so the store may as well be its own copy.
    ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
    HydraPlugins.instance().register(ConvragSearchPath)
    store = ConfigStore.instance()
    store.store(name="settings", node=_root_schema(), provider=plugins.FIRST_PARTY)
    for group in GROUPS:
        kept = {name: node for name, node in store.repo.get(group, {}).items() if not isinstance(node, LazyNode)}
        store.repo[group] = kept | {node.name: node for node in _make_nodes(group, for_help=for_help)}
    _claim_yaml_names(loaded)


def compose(*overrides: str) -> DictConfig:
    """The configuration that the command would run with these overrides ("rewriter=dhrag", "top_k=20").

    Raises ConfigError for what cannot be chosen or set. Callable from any thread.
    """
    return compose_command(*overrides)[0]


def compose_command(*overrides: str) -> tuple[DictConfig, Command]:
    """Like `compose`, with what messages need to speak of the choices as they were typed."""
    prepared = _prepare(overrides)
    with _composing, initialize_hydra():
        return _compose(prepared, CONFIG_NAME)


def compose_with(*overrides: str) -> tuple[DictConfig, Command]:
    """The configuration of the command that Hydra is carrying out, with more overrides; the later of two wins.

    Files are looked for where that command looks for them (--config-dir, --config-name). Outside of Hydra, the same as
    `compose_command`, which raises what this does.
    """
    if not HydraConfig.initialized() or not GlobalHydra.instance().is_initialized():
        return compose_command(*overrides)
    hydra = HydraConfig.get()
    prepared = _prepare([*hydra.overrides.task, *overrides])
    with _composing:
        return _compose(prepared, hydra.job.config_name or CONFIG_NAME)


def _prepare(overrides: Sequence[str]) -> tuple[str, ...]:
    """Load the plugin files that overrides name, and return the overrides as Hydra reads them. Raises ConfigError."""
    refuse_secrets_in_command(overrides)
    overrides = [quote_value(override) for override in overrides]
    configure(find_plugin_files(overrides))
    translated = tuple(translate_overrides(overrides, plugins.load().registry))
    check_choices(translated, plugins.load().registry)
    return translated


def _compose(overrides: tuple[str, ...], config_name: str) -> tuple[DictConfig, Command]:
    """Compose with the search path of the Hydra that is initialized."""
    with explained(plugins.load().registry, overrides):
        config = hydra_compose(config_name, list(overrides), return_hydra_config=True)
        command = Command(overrides, {**config.hydra.runtime.choices})
        refuse_secrets(config)
        with open_dict(config):
            del config["hydra"]
        check_config(config, command)
        return config, command


def check_config(config: DictConfig, command: Command) -> None:
    """Check what Hydra has composed: keys that nothing reads, and names that two distributions claim.

    Args:
        config: composed, with or without Hydra's own part.
        command: by which it was.

    Raises:
        PluginError: a chosen name is claimed by two distributions.
        ConfigError: nothing reads a key; the message names the file where a file set it.
    """
    for key, name in command.chosen.items():
        if isinstance(name, str):
            plugins.load().registry.check_name(key.partition("@")[0], name)
    try:
        check_keys(config, plugins.load().registry, command.names)
    except ConfigError as error:
        raise cite(error, command, getattr(error, "key", "")) from None


def settings_of(config: DictConfig) -> Settings:
    """The checked top-level settings of a configuration. Raises ConfigError."""
    return Settings(**{each.name: config[each.name] for each in fields(Settings) if each.name in config})


def _root_schema() -> type:
    """The typed settings, and a place for each group."""
    groups = [(group, Any, field(default=None)) for group in GROUPS]
    return make_dataclass("Config", groups, bases=(Settings,), init=False, repr=False, eq=False)


def _make_nodes(group: str, *, for_help: bool) -> Iterator[LazyNode]:
    """What a group offers besides the files in folders of its name."""
    if group != options_group(group):
        for package, distribution in reversed(yaml_packages().items()):
            for name in offered_files(package, options_group(group)):
                yield VariantNode(group, name, package, distribution)
    for option in plugins.load().registry.options(group).values():
        yield OptionNode(group, option, from_source=for_help)


def _claim_yaml_names(loaded: plugins.Plugins) -> None:
    """A plugin's YAML file that is named like an existing option would replace it unseen: contest the name."""
    taken = {
        (group, name): option.distribution
        for group in GROUPS
        for name, option in loaded.registry.options(group).items()
    }
    taken |= dict.fromkeys(yaml_files(CONFIG_MODULE), plugins.FIRST_PARTY)
    for package, distribution in loaded.config_packages.items():
        for group, name in yaml_files(package):
            if (holder := taken.get((group, name))) is not None:
                loaded.add_conflict(group, name, holder, distribution)
            taken[group, name] = distribution
