"""Who brings a plugin, and how its hooks are called: by pluggy, with a guard around each function
that only watches.

An observer that raises, or returns what its hook cannot, costs one warning, and the run goes on.
Wrappers are left to pluggy.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from importlib import metadata
from reprlib import repr as brief
from typing import Any, NamedTuple

import pluggy

from convrag.api import hookspecs
from convrag.api.errors import PluginError, find_package, locate_error, locate_function
from convrag.api.records import Report

_RESULTS: Mapping[str, type] = {
    "convrag_report": Report,
    "convrag_sweep_report": Report,
    "convrag_sweep_check": list,
    "convrag_run_finished": str,
    "convrag_sweep_finished": str,
    "convrag_conversations_ended": str,
}
"""The observing hooks whose results are used -> what they return, if not None."""

_REGISTERING = {
    "convrag_register",
    "convrag_config_packages",
    "convrag_open_database",
    "convrag_open_conversations",
}
"""Hooks that bring options, YAML and databases: what they raise is not caught here."""

log = logging.getLogger(__name__)


def make_manager() -> pluggy.PluginManager:
    """Make a manager that knows our hooks. With `CONVRAG_TRACE=1` it writes a line for each call of
    one.
    """
    manager = pluggy.PluginManager("convrag")
    manager.add_hookspecs(hookspecs)
    if os.environ.get("CONVRAG_TRACE", "") not in ("", "0"):
        manager.add_hookcall_monitoring(lambda hook, implementations, arguments: None, _write_trace)
    return manager


def register_guarded(manager: pluggy.PluginManager, plugin: object, name: str) -> None:
    """Register a plugin, and put a guard around each of its functions that watch.

    Args:
        manager: gets the plugin.
        plugin: a module or an object with functions marked by `@hookimpl`.
        name: how warnings name it ("acme-dist:acme").

    Raises:
        pluggy.PluginValidationError: a function has an argument that its hook does not have, or is
            no wrapper as its mark says.
    """
    manager.register(plugin, name)
    warned: set[str] = set()
    for hook in manager.get_hookcallers(plugin) or ():
        for each in hook.get_hookimpls():
            if each.plugin is plugin and not (
                each.wrapper or each.hookwrapper or hook.name in _REGISTERING
            ):
                each.function = _guard(each.function, hook.name, name, warned)  # type: ignore[misc]


def warn_of_hook(
    plugin: str, hook: str, error: Exception, place: str = "", *, again: bool = False
) -> None:
    """Say that a plugin's hook failed, and where; `again` says it to the log file alone."""
    shown = f" ({place})" if place else ""
    level = logging.DEBUG if again else logging.WARNING
    log.log(
        level,
        "plugin %s: %s failed: %s: %s%s",
        plugin,
        hook,
        type(error).__name__,
        error,
        shown,
        exc_info=error,
    )


def _guard(
    function: Callable[..., Any], hook: str, plugin: str, warned: set[str]
) -> Callable[..., Any]:
    """Return a function that does the same, but warns where this one raises; only a plugin's first
    warning is one.
    """

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return _check_result(hook, function(*args, **kwargs))
        except Exception as error:
            place = locate_error(error, {find_package(function)}) or locate_function(function)
            warn_of_hook(plugin, hook, error, place, again=plugin in warned)
            warned.add(plugin)
            return None

    return guarded


def _check_result(hook: str, result: Any) -> Any:
    """Return the result of a hook. Raises TypeError for what it cannot return."""
    wanted = _RESULTS.get(hook)
    if wanted is list and not isinstance(result, str | None):
        result = list(result)
    if wanted and not isinstance(result, wanted | None):
        raise TypeError(f"it returned {brief(result)}, which is no {wanted.__name__}")
    return result


def _write_trace(
    outcome: pluggy.Result[Any], hook: str, called: Sequence[Any], arguments: Mapping[str, Any]
) -> None:
    """Write a call of a hook to standard error. Arguments are named alone, for they may hold whole
    conversations.
    """
    gave = (
        f"raised {brief(outcome.exception)}"
        if outcome.exception
        else f"-> {brief(outcome.get_result())}"
    )
    plugins = ", ".join(each.plugin_name for each in called)
    sys.stderr.write(
        f"convrag: trace: {hook}({', '.join(arguments)}) of {plugins or 'nobody'} {gave}\n"
    )


FIRST_PARTY = "convrag"


class Origin(NamedTuple):
    """Who brings a plugin: a distribution, or a file."""

    plugin: str
    distribution: str
    version: str = ""

    @property
    def name(self) -> str:
        """Names the plugin for pluggy, and in traces and warnings."""
        return f"{self.distribution}:{self.plugin}"

    def order(self) -> tuple[bool, str, str]:
        """The order of loading: our own plugins, then others by distribution and name."""
        return self.distribution != FIRST_PARTY, self.distribution, self.plugin

    def error(self, problem: str, hook: str = "") -> PluginError:
        """The error that says what is wrong with the plugin, or with one of its hooks."""
        subject = f"{hook} of plugin" if hook else "plugin"
        message = f"{subject} {self.plugin!r} of {self.distribution} {problem}"
        return PluginError(message, plugin=self.plugin, distribution=self.distribution)


def read_origin(entry_point: metadata.EntryPoint) -> Origin:
    """Who brings an entry point."""
    distribution, version = (
        _described(entry_point.dist) if entry_point.dist else ("an unknown distribution", "")
    )
    return Origin(entry_point.name, distribution, version)


@lru_cache
def _described(distribution: metadata.Distribution) -> tuple[str, str]:
    """Name and version; the library parses the metadata anew for each of them."""
    described = distribution.metadata
    return described["Name"], described["Version"]
