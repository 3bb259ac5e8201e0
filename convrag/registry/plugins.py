"""Discovery: what is installed under the entry-point group `convrag` is loaded lazily, one by one, each on its own.

Files that a command names join them.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pluggy

from convrag.api import hookspecs
from convrag.api.errors import ConvragError, PluginError
from convrag.api.stage import Stage
from convrag.registry.option import Option
from convrag.registry.plugin_files import import_file, module_of
from convrag.registry.registry import Registry
from convrag.registry.tracing import call_traced

GROUP = "convrag"
FIRST_PARTY = "convrag"

log = logging.getLogger(__name__)


class Source(NamedTuple):
    """Who brings a plugin: a distribution, or a file."""

    plugin: str
    distribution: str
    version: str = ""


class Plugins:
    """The loaded plugins: their options (`registry`), their YAML packages, and their hooks (`manager`).

    A plugin that is broken costs one warning; its error waits in `registry.failures` for whoever asks for its options.
    """

    def __init__(self, entry_points: Iterable[metadata.EntryPoint]) -> None:
        self.registry = Registry()
        self.config_packages: dict[str, str] = {}
        self.files: dict[Path, str] = {}
        """The files that were added -> the name of the module that each became."""
        self.manager = pluggy.PluginManager("convrag")
        self.manager.add_hookspecs(hookspecs)
        disabled = {name.strip() for name in os.environ.get("CONVRAG_DISABLE_PLUGINS", "").split(",")}
        for entry_point in _first_party_first(entry_points):
            source = _source_of(entry_point)
            if not disabled & {source.plugin, source.distribution}:
                self._load(entry_point, source)
        self._be_strict()

    def add_file(self, path: Path) -> None:
        """Load a plugin that is a single file; one that is loaded already only where its contents have changed.

        Raises:
            ConfigError: there is no such file, or it fails when it is imported.
            PluginError: what it registers cannot be.
        """
        path = path.absolute()
        module = module_of(path)
        if self.files.get(path) == module:
            return
        source = Source(path.stem, path.name)
        if path in self.files:
            self._forget(self.files.pop(path), source)
        plugin = import_file(path, module)
        failures = len(self.registry.failures)
        self._register(plugin, source)
        self.files[path] = module
        if self.registry.failures[failures:]:
            raise self.registry.failures[failures]

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> None:
        """Note, and say, that a distribution claims a name that another one holds."""
        self._failed(self.registry.add_conflict(group, name, holder, distribution))
        self._be_strict()

    def _load(self, entry_point: metadata.EntryPoint, source: Source) -> None:
        name, distribution = source.plugin, source.distribution
        try:
            self._register(entry_point.load(), source)
        except (Exception, SystemExit) as error:
            self._failed(
                PluginError(
                    f"plugin {name!r} of {distribution} could not be loaded ({type(error).__name__}: {error}). "
                    f"Repair or uninstall {distribution}, or leave it out: CONVRAG_DISABLE_PLUGINS={distribution}",
                    plugin=name,
                    distribution=distribution,
                )
            )

    def _register(self, plugin: object, source: Source) -> None:
        top = str(getattr(plugin, "__name__", type(plugin).__module__)).partition(".")[0]
        logging.getLogger(top).setLevel(logging.INFO)  # so that a run's log has what it tells, as it has what we do
        self.manager.register(plugin, name=f"{source.distribution}:{source.plugin}")
        misspelt = self._warn_of_unknown_hooks(plugin, source.plugin, source.distribution)
        if not misspelt and not self.manager.get_hookcallers(plugin):
            message = f"plugin {source.plugin!r} of {source.distribution} implements no hook: mark one with @hookimpl"
            self._failed(PluginError(message, plugin=source.plugin, distribution=source.distribution))
        self._collect(plugin, source)

    def _forget(self, module: str, source: Source) -> None:
        self.manager.unregister(sys.modules.pop(module, None), f"{source.distribution}:{source.plugin}")
        self.registry.remove(source.distribution)

    def _collect(self, plugin: object, source: Source) -> None:
        """Call this one plugin's registering hooks: a failure must not reach those of the others."""
        name, distribution, version = source

        def register(group: str, option: str, cls: type[Stage]) -> None:
            try:
                self.registry.add(Option(group, option, cls, name, distribution, version))
            except PluginError as error:
                self._failed(error)

        self._call("convrag_register", plugin, register=register)
        for packages in self._call("convrag_config_packages", plugin):
            self.config_packages |= dict.fromkeys(packages, distribution)

    def _call(self, hook: str, plugin: object, **arguments: Any) -> list[Any]:
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            if implementation.plugin is plugin:
                wanted = {name: arguments[name] for name in implementation.argnames}
                given = call_traced(hook, implementation.plugin_name, implementation.function, wanted)
                return [] if given is None else [given]
        return []

    def _warn_of_unknown_hooks(self, plugin: object, name: str, distribution: str) -> bool:
        """Whether there are any."""
        known = [hook for hook in vars(hookspecs) if hook.startswith("convrag_")]
        marked = [each for each in dir(plugin) if self.manager.parse_hookimpl_opts(plugin, each) is not None]
        unknown = [each for each in marked if each not in known]
        for attribute in unknown:
            near = get_close_matches(attribute, known, n=1)
            guess = f" Did you mean {near[0]}?" if near else f" The hooks are {', '.join(known)}."
            message = f"plugin {name!r} of {distribution} implements {attribute}, which is no hook.{guess}"
            self._failed(PluginError(message, plugin=name, distribution=distribution))
        return bool(unknown)

    def _failed(self, error: PluginError) -> None:
        self.registry.failures.append(error)
        if not _strict():
            log.warning("%s", error)

    def _be_strict(self) -> None:
        if _strict() and self.registry.failures:
            problems = "\n".join(str(failure) for failure in self.registry.failures)
            raise ConvragError(f"{problems}\nCONVRAG_STRICT_PLUGINS is set, so nothing runs.")


@lru_cache(maxsize=1)
def load() -> Plugins:
    """The installed plugins; the first call loads them."""
    return Plugins(metadata.entry_points(group=GROUP))


def _strict() -> bool:
    return os.environ.get("CONVRAG_STRICT_PLUGINS", "") not in ("", "0")


def _first_party_first(entry_points: Iterable[metadata.EntryPoint]) -> list[metadata.EntryPoint]:
    def order(entry_point: metadata.EntryPoint) -> tuple[bool, str, str]:
        name, distribution, _ = _source_of(entry_point)
        return distribution != FIRST_PARTY, distribution, name

    return sorted(entry_points, key=order)


def _source_of(entry_point: metadata.EntryPoint) -> Source:
    distribution, version = _described(entry_point.dist) if entry_point.dist else ("an unknown distribution", "")
    return Source(entry_point.name, distribution, version)


@lru_cache
def _described(distribution: metadata.Distribution) -> tuple[str, str]:
    """Name and version; the library parses the metadata anew for each of them."""
    described = distribution.metadata
    return described["Name"], described["Version"]
