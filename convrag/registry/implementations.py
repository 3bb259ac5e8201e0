"""The hook implementations of a plugin, and mistakes in them.

A name that is no hook, an argument that the hook does not have, a wrapper without a yield: each is one message.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import pluggy

from convrag.api.locations import find_package, locate_function
from convrag.registry.guards import Guard, GuardedPlugin
from convrag.registry.tracing import argument_names


def guard_plugin(plugin: object, name: str, manager: pluggy.PluginManager) -> tuple[GuardedPlugin, list[str]]:
    """A plugin's hooks behind guards, and what is wrong with those that are left out, one message each.

    Args:
        plugin: a module or an object with functions marked by `@hookimpl`.
        name: how messages name it.
        manager: knows the specifications of the hooks.
    """
    guard, hooks, problems = Guard(name, find_package(plugin)), {}, []
    for attribute in dir(plugin):
        marks = manager.parse_hookimpl_opts(plugin, attribute)
        if marks is None:
            continue
        hook, function = marks.get("specname") or attribute, getattr(plugin, attribute)
        if mistake := explain_mistake(manager, hook, attribute, function, marks):
            problems.append(mistake)
        elif hasattr(manager.hook, hook):
            hooks[attribute] = guard.wrap(hook, function, marks)
    return GuardedPlugin(plugin, hooks), problems


def explain_mistake(
    manager: pluggy.PluginManager, hook: str, attribute: str, function: Callable[..., Any], marks: Mapping[str, Any]
) -> str:
    """What is wrong with an implementation, as a message that goes on from "plugin 'acme' of acme-dist"; else empty.

    Args:
        manager: knows the specifications of the hooks.
        hook: the hook that is implemented.
        attribute: the function's name in the plugin.
        function: the implementation.
        marks: what `@hookimpl` was given.
    """
    place = f" ({found})" if (found := locate_function(function)) else ""
    known = sorted(name for name in vars(manager.hook) if name.startswith("convrag_"))
    if hook not in known:
        near = get_close_matches(hook, known, n=1)
        guess = f"Did you mean {near[0]}?" if near else f"The hooks are {', '.join(known)}."
        return "" if marks.get("optionalhook") else f"implements {hook}, which is no hook{place}. {guess}"
    spec = getattr(manager.hook, hook).spec
    if unknown := [name for name in argument_names(function) if name not in spec.argnames]:
        near = get_close_matches(unknown[0], spec.argnames, n=1)
        there = ", ".join(spec.argnames) or "none"
        guess = f"Did you mean {near[0]}?" if near else f"Its arguments: {there}."
        return f"implements {hook} with the argument {unknown[0]}, which the hook does not have{place}. {guess}"
    if marks.get("wrapper") and marks.get("hookwrapper"):
        return f"marks {attribute} as wrapper and as hookwrapper{place}: choose wrapper=True"
    if (marks.get("wrapper") or marks.get("hookwrapper")) and not inspect.isgeneratorfunction(function):
        return f"marks {attribute} as a wrapper, which calls `yield` once, and this never does{place}"
    return ""
