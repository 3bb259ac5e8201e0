"""Where configurations are looked for, and the loader that looks there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath, SearchPathElement
from hydra.core.plugins import Plugins as HydraPlugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from convrag.config.hydra import OwnLoader
from convrag.config.option_source import OptionSource, load_options
from convrag.config.variants import CONFIG_MODULE
from convrag.config.yaml_files import user_folder
from convrag.registry import plugins

Place = tuple[str, str]
"""Who brings configurations, and where they are: "pkg://..." or "file://..."."""


class OwnSearchPath(ConfigSearchPath):
    """The places where Hydra looks for configurations, in their order.

    Args:
        places: the first one that has a configuration gives it.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self._places = [SearchPathElement(*place) for place in places]

    def get_path(self) -> list[SearchPathElement]:
        """Called by Hydra."""
        return self._places

    def append(self, provider: str, path: str, anchor: Any = None) -> None:
        """Called by Hydra and its plugins; the anchor is ignored, since ours have one order."""
        self._places.append(SearchPathElement(provider, path))

    def prepend(self, provider: str, path: str, anchor: Any = None) -> None:
        """Called by Hydra's plugins."""
        self._places.insert(0, SearchPathElement(provider, path))


class ConvragSearchPath(SearchPathPlugin):
    """Adds our places to those of the process, for the texts that Hydra writes by itself."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra whenever it looks for configurations."""
        for provider, path in list_own_places():
            search_path.append(provider=provider, path=path)


def make_loader(places: Sequence[Place] = ()) -> OwnLoader:
    """Make a loader of the configurations of convrag, its plugins and the user.

    Args:
        places: where it looks; by default, what `list_places` returns.
    """
    load_options()
    places = places or list_places()
    arguments = (places, tuple(plugins.load().files))
    return OwnLoader(OwnSearchPath(places), (_make_again, arguments))


def _make_again(places: Sequence[Place], files: Iterable[Path]) -> OwnLoader:
    """Make the loader in another process, which loads the plugin files first."""
    load_options(files)
    return make_loader(places)


def list_places(config_path: str | None = None) -> list[Place]:
    """Return all places; with --config-path, a folder takes the place of our configurations."""
    main = f"file://{Path(config_path).absolute()}" if config_path else f"pkg://{CONFIG_MODULE}"
    search_path = OwnSearchPath([("hydra", "pkg://hydra.conf"), ("main", main)])
    for plugin in HydraPlugins.instance().discover(SearchPathPlugin):
        assert issubclass(plugin, SearchPathPlugin)
        if plugin is not ConvragSearchPath:
            plugin().manipulate_search_path(search_path)
    found = [(each.provider, each.path) for each in search_path.get_path()]
    return [*found, *list_own_places(), ("schema", "structured://")]


def list_own_places() -> list[Place]:
    """Return the packages of plugins, then the folder of --config-dir, then the options."""
    found = plugins.load().config_packages.items()
    places = [(distribution, f"pkg://{package}") for package, distribution in found]
    if user_folder.path:
        places.append(("command-line", f"file://{user_folder.path}"))
    return [*places, (plugins.FIRST_PARTY, f"{OptionSource.scheme()}://")]
