"""Hydra's loader on a store of our own: options are nodes of it, made when they are chosen.

An application of Hydra may use convrag as a library. So none of Hydra's singletons is changed: its
store, its search path and its GlobalHydra are the application's, and neither side sees the
configurations of the other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, make_dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from hydra import version
from hydra._internal.config_loader_impl import (
    ConfigLoaderImpl,  # the public one is of the process, as is its store
)
from hydra.core.config_search_path import ConfigSearchPath, SearchPathElement
from hydra.core.config_store import ConfigNode, ConfigStore
from hydra.core.plugins import Plugins as HydraPlugins
from hydra.core.utils import setup_globals
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from convrag.api.groups import GROUPS, OPTION_KEY, SEVERAL, options_group
from convrag.config.settings import Settings
from convrag.config.variants import CONFIG_MODULE, offered_files, yaml_files, yaml_packages
from convrag.config.yaml_files import read_yaml, user_folder
from convrag.registry import plugins
from convrag.registry.option import Option
from convrag.registry.schema import plain_value

VERSION_BASE = "1.3"
_configured: list[tuple[plugins.Plugins, dict[Path, str], bool, OwnStore]] = []
_configuring = threading.RLock()


class LazyNode(ConfigNode):
    """A configuration that is made at its first use: making all of them takes longer than Hydra
    does.

    Args:
        group: where it is offered.
        name: what is chosen.
        package: where it goes in the configuration; None for the place of the group.
        provider: the distribution that brings it.
        make: makes the configuration.
    """

    def __init__(
        self,
        group: str,
        name: str,
        package: str | None,
        provider: str,
        make: Callable[[], DictConfig],
    ) -> None:
        self.name, self.group, self.package, self.provider = (
            f"{name}.yaml",
            group,
            package,
            provider,
        )
        self._make = make

    @cached_property
    def node(self) -> DictConfig:  # type: ignore[override]
        """The configuration."""
        return self._make()

    def __copy__(self) -> ConfigNode:
        """What Hydra gets, since it copies what it loads: the configuration, made."""
        return ConfigNode(self.name, self.node, self.group, self.package, self.provider)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyNode:
        return self


class OwnStore(ConfigStore):
    """A store beside Hydra's own, which it shares Hydra's part with. It is not copied where Hydra
    would do so.

    Hydra copies the store for each list of defaults: seconds at eighty options. Nothing writes to
    the copies.
    """

    @classmethod
    def make(cls) -> OwnStore:
        """Make a store; the constructor would give the one of the process."""
        store = cls.__new__(cls)
        HydraPlugins.instance()  # those bring nodes of Hydra's part
        store.repo = {
            name: nodes
            for name, nodes in ConfigStore.instance().repo.items()
            if name in _HYDRAS_OWN
        }
        return store

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnStore:
        return self


_HYDRAS_OWN = ("hydra", "_dummy_empty_config_.yaml")


class OwnSearchPath(ConfigSearchPath):
    """Where configurations are looked for, in this order: pairs of who says so and "pkg://..." or
    "file://...".
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._places = [SearchPathElement(*place) for place in places]

    def get_path(self) -> list[SearchPathElement]:
        """Called by Hydra."""
        return self._places

    def append(self, provider: str, path: str, anchor: Any = None) -> None:
        """Called by Hydra and its plugins; the anchor says nothing, since ours have one order."""
        self._places.append(SearchPathElement(provider, path))

    def prepend(self, provider: str, path: str, anchor: Any = None) -> None:
        """Called by Hydra's plugins."""
        self._places.insert(0, SearchPathElement(provider, path))


class OwnLoader(ConfigLoaderImpl):
    """Hydra's loader, which takes schemas and options from our store, also in another process.

    Args:
        places: as in `OwnSearchPath`.
        store: holds the options.
    """

    def __init__(self, places: Sequence[tuple[str, str]], store: OwnStore) -> None:
        super().__init__(OwnSearchPath(places))
        self.places, self.store = places, store
        self.take_store(self.repository)

    def _parse_overrides_and_create_caching_repo(self, *arguments: Any) -> Any:
        """Called by Hydra, which makes new sources for hydra.searchpath; 1.4 gives more arguments
        than 1.3.
        """
        parsed, repository = super()._parse_overrides_and_create_caching_repo(*arguments)
        self.take_store(repository)
        return parsed, repository

    def take_store(self, repository: Any) -> None:
        """Let Hydra's last source, the one of schemas and options, take them from our store."""
        repository.get_schema_source().store = self.store

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process go the files to load there: it cannot import what a file brought."""
        return _make_again, (self.places, tuple(plugins.load().files))


def _make_again(places: Sequence[tuple[str, str]], files: Iterable[Path]) -> OwnLoader:
    configure(files)
    return make_loader(places)


def make_loader(places: Sequence[tuple[str, str]] = (), *, for_help: bool = False) -> OwnLoader:
    """Make a loader of the configurations of convrag, its plugins and the user.

    Args:
        places: where it looks; by default, what `list_places` gives.
        for_help: as in `configure`.
    """
    with _configuring:
        if not OmegaConf.has_resolver("hydra"):
            setup_globals()
        if (
            version.getbase() is version._UNSPECIFIED_
        ):  # no application of Hydra has begun in this process
            version.setbase(VERSION_BASE)
        return OwnLoader(places or list_places(), configure(for_help=for_help))


def list_places(config_path: str | None = None) -> list[tuple[str, str]]:
    """Who says so, and where configurations are; with --config-path, a folder stands in the place
    of ours.
    """
    main = f"file://{Path(config_path).absolute()}" if config_path else f"pkg://{CONFIG_MODULE}"
    search_path = OwnSearchPath([("hydra", "pkg://hydra.conf"), ("main", main)])
    for plugin in HydraPlugins.instance().discover(SearchPathPlugin):
        assert issubclass(plugin, SearchPathPlugin)
        plugin().manipulate_search_path(search_path)
    found = [(each.provider, each.path) for each in search_path.get_path()]
    return [*found, *list_own_places(), ("schema", "structured://")]


def list_own_places() -> list[tuple[str, str]]:
    """The packages of plugins, and the folder of --config-dir behind them."""
    packages = [
        (distribution, f"pkg://{package}")
        for package, distribution in plugins.load().config_packages.items()
    ]
    return (
        [*packages, ("command-line", f"file://{user_folder.path}")]
        if user_folder.path
        else packages
    )


def configure(files: Iterable[Path] = (), *, for_help: bool = False) -> OwnStore:
    """Load plugin files, and make the store of all options; called again, only what is new.

    Args:
        files: plugins that are single files.
        for_help: whether a help text is all that is wanted: parameters are then read from the
            source, untyped, and no class is imported.

    Raises:
        ConvragError: a file is no plugin.
    """
    with _configuring:
        loaded = plugins.load()
        for file in files:
            loaded.add_file(file)
        wanted = (loaded, dict(loaded.files), for_help)
        if not _configured or _configured[0][0] is not loaded or _configured[0][1:3] != wanted[1:]:
            _configured[:] = [(*wanted, _make_store(for_help=for_help))]
            _claim_yaml_names(loaded)
        return _configured[0][3]


def forget() -> None:
    """Make the store anew at the next call of `configure`, for tests."""
    with _configuring:
        _configured.clear()


def _make_store(*, for_help: bool) -> OwnStore:
    """A store with the typed settings, a place for each group, and a node for each option."""
    store = OwnStore.make()
    groups = [(group, Any, field(default=None)) for group in GROUPS]
    root = make_dataclass("Config", groups, bases=(Settings,), init=False, repr=False, eq=False)
    store.store(name="settings", node=root, provider=plugins.FIRST_PARTY)
    for group in GROUPS:
        store.repo[group] = {node.name: node for node in _make_nodes(group, for_help=for_help)}
    return store


def _make_nodes(group: str, *, for_help: bool) -> Iterator[LazyNode]:
    """What a group offers besides the files in folders of its name: of rerankers, the files of
    rankers.
    """
    if group != options_group(group):
        for package, distribution in reversed(yaml_packages().items()):
            for name, file in offered_files(package, options_group(group)).items():
                yield LazyNode(group, name, None, distribution, partial(read_yaml, file))
    for option in plugins.load().registry.options(group).values():
        package_of_node = f"{group}.{option.name}" if group in SEVERAL else None
        make = partial(make_option_node, option, from_source=for_help)
        yield LazyNode(group, option.name, package_of_node, option.distribution, make)


def make_option_node(option: Option, *, from_source: bool = False) -> DictConfig:
    """An option's parameters, typed and defaulted as in the signature of its class, which is
    imported for that.

    Args:
        option: what is offered.
        from_source: whether they are read from the source where that is possible, untyped, for a
            help text.

    Raises:
        ConvragError: the class is no option.
    """
    parameters = option.source_parameters if from_source else None
    if parameters is None:
        typed: DictConfig = OmegaConf.structured(option.schema)
        return typed
    plain: dict[str, Any] = {OPTION_KEY: option.name}
    nested = []
    for name, parameter in parameters.items():
        if parameter.injects_store:
            continue
        given = replace(parameter, default=option.defaults.get(name, parameter.default))
        plain[name] = None
        if given.group:
            nested.append({f"/{given.group}@{name}": given.used_option or None})
        else:
            plain[name] = plain_value("???" if given.required else given.default)
    return OmegaConf.create(plain | ({"defaults": ["_self_", *nested]} if nested else {}))


def _claim_yaml_names(loaded: plugins.Plugins) -> None:
    """A plugin's YAML file that is named like an existing option would replace it unseen: contest
    the name.
    """
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
