"""Discovery: what is installed under the entry-point group `convrag` is loaded lazily, one by one, each on its own.

Files that a command names join them.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pluggy

from convrag.api import hookspecs
from convrag.api.databases import Database
from convrag.api.deprecation import Deprecated
from convrag.api.errors import ConfigError, ConvragError, PluginError
from convrag.api.locations import find_package, locate_error
from convrag.api.secrets import redact_address
from convrag.api.stage import Stage
from convrag.api.wrong_calls import describe_error
from convrag.registry.guards import GuardedPlugin
from convrag.registry.hook_results import NonsenseResult, check_packages, explain_missing_package
from convrag.registry.implementations import guard_plugin
from convrag.registry.made_for import find_registered_names, refuse_other_versions
from convrag.registry.option import Option
from convrag.registry.origin import FIRST_PARTY as FIRST_PARTY
from convrag.registry.origin import Origin, find_unknown_plugins, read_origin, sort_first_party_first
from convrag.registry.plugin_files import import_file, module_of
from convrag.registry.registry import Registry

GROUP = "convrag"

log = logging.getLogger(__name__)


class Plugins:
    """The loaded plugins: their options (`registry`), their YAML packages, and their hooks (`manager`).

    A plugin that is broken costs one warning; its error waits in `registry.failures` for whoever asks for its options.
    """

    def __init__(self, entry_points: Iterable[metadata.EntryPoint]) -> None:
        self.registry = Registry()
        self.config_packages: dict[str, str] = {}
        """The packages that hold YAML -> the distribution of each."""
        self.files: dict[Path, str] = {}
        """The files that were added -> the name of the module that each became."""
        self._loaded: dict[str, tuple[Origin, GuardedPlugin]] = {}
        self.manager = self._make_manager()
        """Calls the hooks of all plugins, those loaded first before others; a file that is added makes a new one."""
        disabled = {name.strip() for name in os.environ.get("CONVRAG_DISABLE_PLUGINS", "").split(",")} - {""}
        found = {read_origin(entry_point): entry_point for entry_point in sort_first_party_first(entry_points)}
        for unknown in find_unknown_plugins(disabled, found):
            self._failed(unknown)
        for origin, entry_point in found.items():
            if not disabled & {origin.plugin, origin.distribution}:
                self._load(origin, entry_point)
        self.manager = self._make_manager()
        for origin, plugin in list(self._loaded.values()):
            self._call_registering_hooks(origin, plugin)
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
        origin = Origin(path.stem, path.name)
        if path in self.files:
            self._forget(self.files.pop(path), origin)
        plugin = import_file(path, module)
        failures = len(self.registry.failures)
        guarded = self._guard(origin, plugin)
        self.manager = self._make_manager()
        self._call_registering_hooks(origin, guarded)
        self.files[path] = module
        if self.registry.failures[failures:]:
            raise self.registry.failures[failures]

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> None:
        """Note, and say, that a distribution claims a name that another one holds."""
        self._failed(self.registry.add_conflict(group, name, holder, distribution))
        self._be_strict()

    def list_packages(self) -> list[str]:
        """The top-level names of the plugins' modules, which are those of their loggers."""
        return [find_package(guarded.guarded_plugin) for _, guarded in self._loaded.values()]

    def _make_manager(self) -> pluggy.PluginManager:
        """Make a manager that calls the plugins in the order in which they were loaded: pluggy begins with the last."""
        manager = pluggy.PluginManager("convrag")
        manager.add_hookspecs(hookspecs)
        for name, (_, plugin) in reversed(self._loaded.items()):
            manager.register(plugin, name)
        return manager

    def _load(self, origin: Origin, entry_point: metadata.EntryPoint) -> None:
        if refused := refuse_other_versions(origin, entry_point):
            for group, option in find_registered_names(entry_point.module):
                self.registry.refuse(group, option, refused)
            self._failed(refused)
            return
        with self._isolated(origin, find_package(entry_point.value)):
            plugin = entry_point.load()
            known = [each for each, guarded in self._loaded.values() if guarded.guarded_plugin is plugin]
            if known:
                raise ValueError(f"{known[0].name} is the same module: one entry point is enough")
            self._guard(origin, plugin)

    def _guard(self, origin: Origin, plugin: object) -> GuardedPlugin:
        """Prepare a plugin's hooks for pluggy, and say which of them are none."""
        guarded, problems = guard_plugin(plugin, origin.name, self.manager)
        if not problems and not dir(guarded):
            problems = ["implements no hook: mark one with @hookimpl"]
        for problem in problems:
            self._failed(origin.error(problem))
        self._loaded[origin.name] = (origin, guarded)
        return guarded

    def _forget(self, module: str, origin: Origin) -> None:
        sys.modules.pop(module, None)
        self._loaded.pop(origin.name, None)
        self.registry.remove(origin.distribution)
        self.config_packages = {name: by for name, by in self.config_packages.items() if by != origin.distribution}

    def _call_registering_hooks(self, origin: Origin, plugin: GuardedPlugin) -> None:
        """Call the hooks by which this one plugin brings options and YAML: a failure must not reach those of others."""

        def register(group: str, option: str, target: type[Stage] | str | Deprecated, /, **defaults: Any) -> None:
            old = target if isinstance(target, Deprecated) else None
            made = Option(group, option, "" if isinstance(target, Deprecated) else target, *origin, defaults)
            try:
                self.registry.add_old_name(made, old) if old else self.registry.add(made)
            except PluginError as error:
                self._failed(error)

        others = [each for each in self.manager.get_plugins() if each is not plugin]
        with self._isolated(origin, find_package(plugin.guarded_plugin)):
            self.manager.subset_hook_caller("convrag_register", others)(register=register)
            for packages in self.manager.subset_hook_caller("convrag_config_packages", others)():
                self._add_config_packages(packages, origin)

    def _add_config_packages(self, packages: Any, origin: Origin) -> None:
        try:
            names = check_packages(packages)
        except NonsenseResult as error:
            self._failed(origin.error(f"returned {error}", hook="convrag_config_packages"))
            return
        for name in names:
            if problem := explain_missing_package(name):
                self._failed(origin.error(f"named {problem}", hook="convrag_config_packages"))
            else:
                self.config_packages[name] = origin.distribution

    @contextmanager
    def _isolated(self, origin: Origin, package: str) -> Iterator[None]:
        """Turn what a plugin's own code, that of a package, raises into a failure of that plugin."""
        try:
            yield
        except (Exception, SystemExit) as error:
            name, distribution, _ = origin
            place = locate_error(error, {package})
            cause = describe_error(error) + (f"; {place}" if place else "")
            self._failed(
                PluginError(
                    f"plugin {name!r} of {distribution} could not be loaded ({cause}). "
                    f"Repair or uninstall {distribution}, or leave it out: CONVRAG_DISABLE_PLUGINS={distribution}",
                    plugin=name,
                    distribution=distribution,
                )
            )

    def _failed(self, error: PluginError) -> None:
        self.registry.failures.append(error)
        if not _strict():
            _said.add(str(error))
            log.warning("%s", error)

    def _be_strict(self) -> None:
        if _strict() and self.registry.failures:
            problems = "\n".join(str(failure) for failure in self.registry.failures)
            raise ConvragError(f"{problems}\nCONVRAG_STRICT_PLUGINS is set, so nothing runs.")


_said: set[str] = set()
"""The failures that were said as warnings."""


def was_said(message: str) -> bool:
    """Whether this process has said a message as a warning, when it loaded the plugins."""
    return message in _said


_loaded: list[Plugins] = []
_loading = threading.RLock()  # a plugin may ask for the plugins while it is loaded


def load() -> Plugins:
    """The installed plugins; the first call loads them, whichever thread it comes from."""
    with _loading:
        if not _loaded:
            _loaded.append(Plugins(metadata.entry_points(group=GROUP)))
        return _loaded[0]


def open_database(url: str, setting: str) -> Database:
    """Open the database server at an address, by the plugin that does.

    Args:
        url: the address.
        setting: what names it, for messages ("store.url").

    Raises:
        ConfigError: no plugin opens such an address.
    """
    database: Database | None = load().manager.hook.convrag_open_database(url=url, setting=setting)
    if database is None:
        raise ConfigError(
            f"{setting}={redact_address(url)}: no plugin opens such a database; name a database of PostgreSQL, as in "
            f"{setting}=postgresql+psycopg://user@host/database"
        )
    return database


def forget(instead: Plugins | None = None) -> None:
    """Load the plugins anew at the next call of `load`, for tests; or let it give these."""
    with _loading:
        _loaded[:] = [instead] if instead else []


def _strict() -> bool:
    return os.environ.get("CONVRAG_STRICT_PLUGINS", "") not in ("", "0")
