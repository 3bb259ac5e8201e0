"""Discovery of the plugins that are installed under the entry-point group `convrag`.

They are loaded at the first use, one by one, so that a broken plugin stops no other. Files that a
command names join them.
"""

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

from convrag.api.databases import Database
from convrag.api.errors import (
    ConfigError,
    ConvragError,
    PluginError,
    UnknownName,
    find_package,
    locate_function,
)
from convrag.api.secrets import redact_address
from convrag.api.stage import Stage
from convrag.concurrency.exits import is_failure
from convrag.registry.hook_calls import GuardedPlugin, make_manager, register_guarded
from convrag.registry.importing import describe_cause, redirect_prints
from convrag.registry.option import Option
from convrag.registry.origin import FIRST_PARTY as FIRST_PARTY, Origin, read_origin
from convrag.registry.plugin_files import import_file, name_module
from convrag.registry.registry import Registry

GROUP = "convrag"

log = logging.getLogger(__name__)


class Plugins:
    """The loaded plugins: their options (`registry`), YAML packages, and hooks (`manager`).

    A plugin that is broken costs one warning; its error waits in `registry.failures` for whoever
    asks for its options.
    """

    def __init__(self, entry_points: Iterable[metadata.EntryPoint]) -> None:
        self.registry = Registry()
        self.config_packages: dict[str, str] = {}
        """The packages that hold YAML -> the distribution of each."""
        self.files: dict[Path, str] = {}
        """The files that were added -> the name of the module that each became."""
        self.manager = make_manager()
        """Pluggy's manager. It calls files first, then plugins in the order of loading."""
        found = {read_origin(entry_point): entry_point for entry_point in entry_points}
        enabled = self._leave_out_disabled(sorted(found, key=Origin.order))
        loaded = {origin: self._load(origin, found[origin]) for origin in enabled}
        for origin, plugin in reversed(loaded.items()):  # pluggy begins with the last
            if plugin is not None:
                self._register(origin, plugin)
        for origin in loaded:
            self._call_registering_hooks(origin)
        self._be_strict()

    def add_file(self, path: Path) -> None:
        """Load a plugin that is a single file, or load it again where its contents have changed.

        Raises:
            ConfigError: there is no such file, or it fails when it is imported.
            PluginError: its options cannot be registered.
        """
        path = path.absolute()
        module = name_module(path)
        if self.files.get(path) == module:
            return
        origin = Origin(path.stem, path.name)
        if path in self.files:
            self._forget(self.files.pop(path), origin)
        plugin = import_file(path, module)
        failures_before = len(self.registry.failures)
        self._register(origin, plugin)
        self._call_registering_hooks(origin)
        self.files[path] = module
        if len(self.registry.failures) > failures_before:
            raise self.registry.failures[failures_before]

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> None:
        """Note, and warn, that a distribution claims a name that another one holds."""
        self._add_failure(self.registry.add_conflict(group, name, holder, distribution))
        self._be_strict()

    def list_packages(self) -> list[str]:
        """Return the top-level names of the plugins' modules; their loggers have the same."""
        plugins = self.manager.get_plugins()
        return [find_package(each.plugin) for each in plugins if isinstance(each, GuardedPlugin)]

    def _leave_out_disabled(self, found: Iterable[Origin]) -> Iterator[Origin]:
        """Yield the plugins that CONVRAG_DISABLE_PLUGINS does not name; unknown names in it are
        failures.
        """
        setting = os.environ.get("CONVRAG_DISABLE_PLUGINS", "")
        disabled = {name.strip() for name in setting.split(",")} - {""}
        names = {name for origin in found for name in (origin.plugin, origin.distribution)}
        known = {name for name in names if " " not in name}  # "an unknown distribution"
        for name in sorted(disabled - known):
            message = str(UnknownName("CONVRAG_DISABLE_PLUGINS: plugin", name, known))
            self._add_failure(PluginError(message, plugin=name, distribution=name))
        for origin in found:
            if not disabled & {origin.plugin, origin.distribution}:
                yield origin

    def _load(self, origin: Origin, entry_point: metadata.EntryPoint) -> object | None:
        """Import a plugin; None where it fails."""
        with self._isolated(origin, entry_point.value):
            plugin: object = entry_point.load()
            return plugin
        return None

    def _register(self, origin: Origin, plugin: object) -> None:
        """Give a plugin's hooks to pluggy; a plugin without hooks, and a misspelt hook, are
        failures.
        """
        package = find_package(plugin)
        with self._isolated(origin, package):
            implementations = register_guarded(self.manager, plugin, origin.name)
            if not implementations:
                self._add_failure(origin.error("implements no hook: mark one with @hookimpl"))
            hooks = vars(self.manager.hook)
            known = [name for name, hook in hooks.items() if name[0] != "_" and hook.has_spec()]
            for hook, implementation in implementations:
                if hook not in known and not implementation.optionalhook:
                    place = locate_function(implementation.function)
                    problem = f"({place}): {UnknownName('hook', hook, known)}"
                    self._add_failure(origin.error(problem))

    def _forget(self, module: str, origin: Origin) -> None:
        sys.modules.pop(module, None)
        if self.manager.get_plugin(origin.name):
            self.manager.unregister(name=origin.name)
        self.registry.remove(origin.distribution)
        for package, distribution in list(self.config_packages.items()):
            if distribution == origin.distribution:
                del self.config_packages[package]

    def _call_registering_hooks(self, origin: Origin) -> None:
        """Call the hooks by which one plugin brings options and YAML.

        It is the only plugin called, so that its failure does not reach the others.
        """
        plugin = self.manager.get_plugin(origin.name)
        if plugin is None:
            return

        def register(
            group: str,
            option: str,
            target: type[Stage] | str,
            summary: str = "",
            /,
            **defaults: Any,
        ) -> None:
            try:
                if not isinstance(summary, str):
                    raise origin.error(f"gives {group}={option} a summary that is not text")
                self.registry.add(
                    Option(group, option, target, *origin, defaults=defaults, summary=summary)
                )
            except PluginError as error:
                self._add_failure(error)

        others = [each for each in self.manager.get_plugins() if each is not plugin]
        with self._isolated(origin, find_package(plugin.plugin)):
            self.manager.subset_hook_caller("convrag_register", others)(register=register)
            for packages in self.manager.subset_hook_caller("convrag_config_packages", others)():
                self._add_config_packages(packages, origin)

    def _add_config_packages(self, packages: Any, origin: Origin) -> None:
        is_one = isinstance(packages, str) or not isinstance(packages, Iterable)
        for name in [packages] if is_one else packages:
            if _is_package(str(name)):
                self.config_packages[name] = origin.distribution
                continue
            problem = (
                f"named {name!r}, which is no package: YAML lies in a folder with an __init__.py"
            )
            self._add_failure(origin.error(problem, "convrag_config_packages"))

    @contextmanager
    def _isolated(self, origin: Origin, module: str) -> Iterator[None]:
        """Turn an error of a plugin's code into a failure of that plugin; redirect its prints."""
        try:
            with redirect_prints():
                yield
        except BaseException as error:
            if not is_failure(error):
                raise
            name, cause = origin.distribution, describe_cause(error, module)
            cure = f"Repair or uninstall {name}, or leave it out: CONVRAG_DISABLE_PLUGINS={name}"
            self._add_failure(origin.error(f"could not be loaded ({cause}). {cure}"))

    def _add_failure(self, error: PluginError) -> None:
        self.registry.failures.append(error)
        if not _is_strict():
            _warnings.add(str(error))
            log.warning("%s", error)

    def _be_strict(self) -> None:
        if _is_strict() and self.registry.failures:
            problems = "\n".join(str(failure) for failure in self.registry.failures)
            raise ConvragError(f"{problems}\nCONVRAG_STRICT_PLUGINS is set, so nothing runs.")


def _is_package(name: str) -> bool:
    """Whether a regular package has this name; only the packages above it are imported."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    return (
        spec is not None and spec.submodule_search_locations is not None and spec.origin is not None
    )


_warnings: set[str] = set()
"""The failures that were logged as warnings."""


def was_warned(message: str) -> bool:
    """Whether this process has logged a message as a warning when it loaded the plugins."""
    return message in _warnings


_loaded: list[Plugins] = []
_loading = RLock()  # a plugin may ask for the plugins while it is loaded


def load() -> Plugins:
    """Return the installed plugins; the first call loads them, whichever thread it comes from."""
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
            f"{setting}={redact_address(url)}: no plugin opens such a database; name a database of "
            f"PostgreSQL, as in {setting}=postgresql+psycopg://user@host/database"
        )
    return database


def forget(instead: Plugins | None = None) -> None:
    """Load the plugins anew at the next call of `load`, for tests; or let it give these."""
    with _loading:
        _loaded[:] = [instead] if instead else []


def _is_strict() -> bool:
    return os.environ.get("CONVRAG_STRICT_PLUGINS", "") not in ("", "0")
