"""Who watches a run: its own observers (files, tracker), and every plugin that implements an observing hook."""

from __future__ import annotations

from typing import Any

from convrag.api.locations import locate_error
from convrag.registry import plugins
from convrag.registry.hook_calls import make_manager, warn_of_hook


class Observers:
    """Calls the observing hooks of one run.

    The run's own observers come first and may stop it (a full disk must); a plugin that raises costs one warning.

    Args:
        own: objects with methods that `@hookimpl` marks.
    """

    def __init__(self, *own: object) -> None:
        self._plugins = plugins.load().manager
        self._own = make_manager()
        for observer in reversed(own):  # pluggy begins with the last
            self._own.register(observer)

    def notify(self, hook: str, **arguments: Any) -> None:
        """Call a hook of every observer."""
        self.collect(hook, **arguments)

    def collect(self, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook of every observer, and gather what they give that is not None; wrappers of plugins see it all."""
        own: list[Any] = getattr(self._own.hook, hook)(**arguments)
        given = [lambda result=result: result for result in reversed(own)]
        try:
            found: list[Any] = getattr(self._plugins.hook, hook).call_extra(given, arguments)
        except Exception as error:
            warn_of_hook("(a wrapper)", hook, error, locate_error(error, ()))
            return own
        return found
