"""Who watches a run: its own observers (files, tracker), and every plugin that implements an observing hook."""

from __future__ import annotations

import logging
from typing import Any

import pluggy

from convrag.api import hookspecs
from convrag.registry import plugins
from convrag.registry.tracing import call_traced

log = logging.getLogger(__name__)


class Observers:
    """Calls the observing hooks of one run.

    The run's own observers come first and may stop it (a full disk must); a plugin that raises costs one warning.
    """

    def __init__(self, *own: object) -> None:
        self._own = own
        self._manager = pluggy.PluginManager("convrag")
        self._manager.add_hookspecs(hookspecs)
        self._warned: set[str] = set()
        for name, plugin in reversed(plugins.load().manager.list_name_plugin()):
            if plugin is not None:
                self._manager.register(plugin, name)
        for observer in reversed(own):
            self._manager.register(observer)

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a hook of every observer."""
        self.collect(hook, **arguments)

    def collect(self, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook of every observer, and gather what they give that is not None."""
        given: list[Any] = []
        for implementation in reversed(getattr(self._manager.hook, hook).get_hookimpls()):
            try:
                wanted = {name: arguments[name] for name in implementation.argnames}
                given.append(call_traced(hook, self._name(implementation), implementation.function, wanted))
            except Exception as error:
                if implementation.plugin in self._own:
                    raise
                self._warn(implementation.plugin_name, hook, error)
        return [each for each in given if each is not None]

    def _name(self, implementation: pluggy.HookImpl) -> str:
        plugin = implementation.plugin
        return type(plugin).__name__ if plugin in self._own else str(implementation.plugin_name)

    def _warn(self, plugin: str, hook: str, error: Exception) -> None:
        if plugin not in self._warned:
            self._warned.add(plugin)
            log.warning("plugin %s failed in %s: %s: %s", plugin, hook, type(error).__name__, error, exc_info=error)
