"""Discovery: what is installed under the entry-point group `convrag` is loaded lazily, one by one,
each on its own.

Files that a command names join them.
"""

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from threading import RLock, current_thread, main_thread
from types import ModuleType
from typing import Any

from convrag.api.databases import Database
from convrag.api.errors import (
    ConfigError,
    ConvragError,
    PluginError,
    UnknownName,
    find_package,
    locate_error,
    locate_function,
)
from convrag.api.secrets import redact_address
from convrag.api.stage import Stage
from convrag.registry.hook_calls import (
    FIRST_PARTY as FIRST_PARTY,
    Origin,
    make_manager,
    read_origin,
    register_guarded,
)
from convrag.registry.option import Option
from convrag.registry.registry import Registry
from convrag.registry.source import find_module

GROUP = "convrag"

log = logging.getLogger(__name__)


class Plugins:
    """The loaded plugins: their options (`registry`), their YAML packages, and their hooks
    (`manager`).

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
        """Calls the hooks of all plugins, those loaded first before others, and files before them.
        """
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
        """Load a plugin that is a single file; one that is loaded already only where its contents
        have changed.

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
        self._register(origin, plugin)
        self._call_registering_hooks(origin)
        self.files[path] = module
        if self.registry.failures[failures:]:
            raise self.registry.failures[failures]

    def add_conflict(self, group: str, name: str, holder: str, distribution: str) -> None:
        """Note, and say, that a distribution claims a name that another one holds."""
        self._failed(self.registry.add_conflict(group, name, holder, distribution))
        self._be_strict()

    def list_packages(self) -> list[str]:
        """The top-level names of the plugins' modules; their loggers have the same."""
        return [find_package(plugin) for plugin in self.manager.get_plugins()]

    def _leave_out_disabled(self, found: Iterable[Origin]) -> Iterator[Origin]:
        """Give the plugins that CONVRAG_DISABLE_PLUGINS does not name, and complain of the names of
        none.
        """
        disabled = {
            name.strip() for name in os.environ.get("CONVRAG_DISABLE_PLUGINS", "").split(",")
        } - {""}
        known = {
            name
            for origin in found
            for name in (origin.plugin, origin.distribution)
            if " " not in name
        }
        for name in sorted(disabled - known):
            message = str(UnknownName("CONVRAG_DISABLE_PLUGINS: plugin", name, known))
            self._failed(PluginError(message, plugin=name, distribution=name))
        return (origin for origin in found if not disabled & {origin.plugin, origin.distribution})

    def _load(self, origin: Origin, entry_point: metadata.EntryPoint) -> object | None:
        """Import a plugin; None where it fails."""
        with self._isolated(origin, find_package(entry_point.value)):
            plugin: object = entry_point.load()
            return plugin
        return None

    def _register(self, origin: Origin, plugin: object) -> None:
        """Give a plugin's hooks to pluggy, and say which of them are none."""
        with self._isolated(origin, find_package(plugin)):
            register_guarded(self.manager, plugin, origin.name)
            if not self.manager.get_hookcallers(plugin):
                self._failed(origin.error("implements no hook: mark one with @hookimpl"))
        known = [
            name
            for name, hook in vars(self.manager.hook).items()
            if name[0] != "_" and hook.has_spec()
        ]
        for hook in self.manager.get_hookcallers(plugin) or ():
            for each in hook.get_hookimpls():
                if each.plugin is plugin and not (hook.has_spec() or each.optionalhook):
                    place = locate_function(each.function)
                    self._failed(
                        origin.error(f"({place}): {UnknownName('hook', hook.name, known)}")
                    )

    def _forget(self, module: str, origin: Origin) -> None:
        sys.modules.pop(module, None)
        if self.manager.get_plugin(origin.name):
            self.manager.unregister(name=origin.name)
        self.registry.remove(origin.distribution)
        self.config_packages = {
            name: by for name, by in self.config_packages.items() if by != origin.distribution
        }

    def _call_registering_hooks(self, origin: Origin) -> None:
        """Call the hooks by which this one plugin brings options and YAML: a failure must not reach
        other plugins.
        """
        plugin = self.manager.get_plugin(origin.name)
        if plugin is None:
            return

        def register(
            group: str, option: str, target: type[Stage] | str, /, **defaults: Any
        ) -> None:
            try:
                self.registry.add(Option(group, option, target, *origin, defaults))
            except PluginError as error:
                self._failed(error)

        others = [each for each in self.manager.get_plugins() if each is not plugin]
        with self._isolated(origin, find_package(plugin)):
            self.manager.subset_hook_caller("convrag_register", others)(register=register)
            for packages in self.manager.subset_hook_caller("convrag_config_packages", others)():
                self._add_config_packages(packages, origin)

    def _add_config_packages(self, packages: Any, origin: Origin) -> None:
        for name in (
            [packages]
            if isinstance(packages, str) or not isinstance(packages, Iterable)
            else packages
        ):
            spec = find_module(str(name))
            if spec is None or spec.submodule_search_locations is None or spec.origin is None:
                problem = f"named {name!r}, which is no package: YAML lies in a folder with an __init__.py"
                self._failed(origin.error(problem, "convrag_config_packages"))
            else:
                self.config_packages[name] = origin.distribution

    @contextmanager
    def _isolated(self, origin: Origin, package: str) -> Iterator[None]:
        """Turn what the code of a plugin's package raises into a failure of that plugin; its prints
        are no output.
        """
        try:
            with (
                redirect_stdout(sys.stderr) if current_thread() is main_thread() else nullcontext()
            ):
                yield
        except (Exception, SystemExit) as error:
            name, place = origin.distribution, locate_error(error, {package})
            cause = f"{type(error).__name__}: {' '.join(str(error).split())}" + (
                f"; {place}" if place else ""
            )
            cure = f"Repair or uninstall {name}, or leave it out: CONVRAG_DISABLE_PLUGINS={name}"
            self._failed(origin.error(f"could not be loaded ({cause}). {cure}"))

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
_loading = RLock()  # a plugin may ask for the plugins while it is loaded


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


def module_of(path: Path) -> str:
    """The name of a file's module: another one when the contents are others. Raises ConfigError for
    a missing file.
    """
    if path.suffix != ".py":
        raise ConfigError(
            f"plugins: {path} is no Python file (*.py). An installed plugin need not be named."
        )
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"plugins: {path} cannot be read ({error.strerror})") from error
    return f"{path.stem}_{blake2b(contents, digest_size=4).hexdigest()}"


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file under this name. Raises ConfigError, naming the line, where it fails."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        with redirect_stdout(sys.stderr) if current_thread() is main_thread() else nullcontext():
            exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        place = locate_error(error, {name})
        raise ConfigError(f"plugins: {place} fails: {type(error).__name__}: {error}") from error
    return module
