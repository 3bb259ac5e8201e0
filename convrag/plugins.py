"""Discovery: what is installed under the entry-point group `convrag` is loaded lazily, one by one, each on its own."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from importlib import metadata

import pluggy

from convrag import hookspecs
from convrag.errors import PluginError
from convrag.options import Option
from convrag.registry import Registry
from convrag.stages import Stage

GROUP = "convrag"
FIRST_PARTY = "convrag"

log = logging.getLogger(__name__)


class Plugins:
    """The loaded plugins: their options (`registry`), their YAML packages, and their hooks (`manager`).

    A plugin that is broken costs one warning; its error waits in `registry.failures` for whoever asks for its options.
    """

    def __init__(self, entry_points: Iterable[metadata.EntryPoint]) -> None:
        self.registry = Registry()
        self.config_packages: dict[str, str] = {}
        self.manager = pluggy.PluginManager("convrag")
        self.manager.add_hookspecs(hookspecs)
        disabled = {name.strip() for name in os.environ.get("CONVRAG_DISABLE_PLUGINS", "").split(",")}
        for entry_point in _first_party_first(entry_points):
            if not disabled & {entry_point.name, _distribution(entry_point)}:
                self._load(entry_point)

    def contest(self, group: str, name: str, holder: str, distribution: str) -> None:
        """Note, and say, that a distribution claims a name that another one holds."""
        self._failed(self.registry.contest(group, name, holder, distribution))

    def _load(self, entry_point: metadata.EntryPoint) -> None:
        name, distribution = entry_point.name, _distribution(entry_point)
        try:
            plugin = entry_point.load()
            self.manager.register(plugin, name=f"{distribution}:{name}")
            self._warn_of_unknown_hooks(plugin, name, distribution)
            self._collect(plugin, entry_point)
        except (Exception, SystemExit) as error:
            self._failed(
                PluginError(
                    f"plugin {name!r} of {distribution} could not be loaded ({type(error).__name__}: {error}). "
                    f"Repair or uninstall {distribution}, or leave it out: CONVRAG_DISABLE_PLUGINS={distribution}",
                    plugin=name,
                    distribution=distribution,
                )
            )

    def _collect(self, plugin: object, entry_point: metadata.EntryPoint) -> None:
        """Call this one plugin's registering hooks: a failure must not reach those of the others."""
        name, distribution = entry_point.name, _distribution(entry_point)
        version = _described(entry_point.dist)[1] if entry_point.dist else ""

        def register(group: str, option: str, cls: type[Stage]) -> None:
            try:
                self.registry.add(Option(group, option, cls, name, distribution, version))
            except PluginError as error:
                self._failed(error)

        hooks = self.manager.subset_hook_caller
        others = [other for other in self.manager.get_plugins() if other is not plugin]
        hooks("convrag_register", others)(register=register)
        for packages in hooks("convrag_config_packages", others)():
            self.config_packages |= dict.fromkeys(packages, distribution)

    def _warn_of_unknown_hooks(self, plugin: object, name: str, distribution: str) -> None:
        known = [hook for hook in vars(hookspecs) if hook.startswith("convrag_")]
        for attribute in dir(plugin):
            if self.manager.parse_hookimpl_opts(plugin, attribute) is not None and attribute not in known:
                near = get_close_matches(attribute, known, n=1)
                guess = f" Did you mean {near[0]}?" if near else f" The hooks are {', '.join(known)}."
                message = f"plugin {name!r} of {distribution} implements {attribute}, which is no hook.{guess}"
                self._failed(PluginError(message, plugin=name, distribution=distribution))

    def _failed(self, error: PluginError) -> None:
        self.registry.failures.append(error)
        log.warning("%s", error)


@lru_cache(maxsize=1)
def load() -> Plugins:
    """The installed plugins; the first call loads them."""
    return Plugins(metadata.entry_points(group=GROUP))


def _first_party_first(entry_points: Iterable[metadata.EntryPoint]) -> list[metadata.EntryPoint]:
    return sorted(entry_points, key=lambda ep: (_distribution(ep) != FIRST_PARTY, _distribution(ep), ep.name))


def _distribution(entry_point: metadata.EntryPoint) -> str:
    return _described(entry_point.dist)[0] if entry_point.dist else "an unknown distribution"


@lru_cache
def _described(distribution: metadata.Distribution) -> tuple[str, str]:
    """Name and version; the library parses the metadata anew for each of them."""
    described = distribution.metadata
    return described["Name"], described["Version"]
