"""How a plugin's hooks are called: by pluggy, with a guard around each function that observes.

An observer that raises, or returns what its hook cannot, costs one warning, and the run goes on.
Wrappers are left to pluggy.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from reprlib import repr as brief
from typing import Any

import pluggy

from convrag.api import hookspecs
from convrag.api.errors import find_package, locate_error, locate_function
from convrag.api.records import Report
from convrag.concurrency.exits import is_failure

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
    """Make a manager that knows our hooks.

    With `CONVRAG_TRACE=1` it writes a line to standard error for each call of one.
    """
    manager = pluggy.PluginManager("convrag")
    manager.add_hookspecs(hookspecs)
    if os.environ.get("CONVRAG_TRACE", "") not in ("", "0"):
        manager.add_hookcall_monitoring(_ignore_call, _write_trace)
    return manager


class GuardedPlugin:
    """A plugin as pluggy gets it: its hooks, with a guard around each one that observes.

    Pluggy has no way to go on after one plugin's hook has raised, so each function catches its own
    errors.

    Args:
        plugin: a module or an object with functions marked by `@hookimpl`.
        hooks: attribute -> the function that pluggy calls.
    """

    def __init__(self, plugin: object, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.plugin = plugin
        vars(self).update(hooks)

    def __eq__(self, other: object) -> bool:
        """Compare the plugins: pluggy refuses to register one twice."""
        return isinstance(other, GuardedPlugin) and self.plugin is other.plugin

    def __hash__(self) -> int:
        return id(self.plugin)


def register_guarded(
    manager: pluggy.PluginManager, plugin: object, name: str
) -> list[tuple[str, pluggy.HookImpl]]:
    """Register a plugin with guards around the functions that observe.

    Args:
        manager: gets the plugin.
        plugin: a module or an object with functions marked by `@hookimpl`.
        name: how warnings name it ("acme-dist:acme").

    Returns:
        The hooks that it implements, with the functions; misspelt hooks are among them.

    Raises:
        pluggy.PluginValidationError: a function has an argument that its hook does not have, or is
            not a wrapper as its mark says.
        ValueError: the plugin is registered already.
    """
    warned: set[str] = set()
    hooks: dict[str, Callable[..., Any]] = {}
    for attribute in dir(plugin):
        marks = manager.parse_hookimpl_opts(plugin, attribute)
        if marks is None:
            continue
        function = getattr(plugin, attribute)
        hook = marks.get("specname") or attribute
        is_wrapper = marks.get("wrapper") or marks.get("hookwrapper")
        if not is_wrapper and hook not in _REGISTERING:
            function = _guard(function, hook, name, warned)
        hooks[attribute] = function
    guarded = GuardedPlugin(plugin, hooks)
    manager.register(guarded, name)
    return [
        (caller.name, implementation)
        for caller in manager.get_hookcallers(guarded) or ()
        for implementation in caller.get_hookimpls()
        if implementation.plugin is guarded
    ]


def warn_of_hook(
    plugin: str, hook: str, error: BaseException, place: str = "", *, again: bool = False
) -> None:
    """Warn that a plugin's hook failed, and where; with `again`, write it to the log file alone."""
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
    """Return a function that does the same, but warns where this one raises.

    Only the first failure of a plugin is a warning; later ones go to the log file alone.
    """

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return _check_result(hook, function(*args, **kwargs))
        except BaseException as error:
            if not is_failure(error):
                raise
            place = locate_error(error, {find_package(function)}) or locate_function(function)
            warn_of_hook(plugin, hook, error, place, again=plugin in warned)
            warned.add(plugin)
            return None

    return guarded


def _check_result(hook: str, result: Any) -> Any:
    """Return the result of a hook. Raises TypeError where the hook cannot return that."""
    wanted = _RESULTS.get(hook)
    if wanted is list and not isinstance(result, str | None):
        result = list(result)
    if wanted and not isinstance(result, wanted | None):
        raise TypeError(f"it returned {brief(result)}, which is no {wanted.__name__}")
    return result


def _ignore_call(
    hook: str, implementations: Sequence[pluggy.HookImpl], arguments: Mapping[str, Any]
) -> None:
    """Do nothing before the call of a hook: it is traced with its result."""


def _write_trace(
    outcome: pluggy.Result[Any], hook: str, called: Sequence[Any], arguments: Mapping[str, Any]
) -> None:
    """Write a call of a hook to standard error.

    Arguments are shown by name only, because they may hold whole conversations.
    """
    if outcome.exception:
        result = f"raised {brief(outcome.exception)}"
    else:
        result = f"-> {brief(outcome.get_result())}"
    plugins = ", ".join(each.plugin_name for each in called) or "nobody"
    names = ", ".join(arguments)
    sys.stderr.write(f"convrag: trace: {hook}({names}) of {plugins} {result}\n")
