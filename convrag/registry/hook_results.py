"""What the hooks return: checked where it arrives, so that nonsense is laid at the door of the plugin that said it."""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import repr as brief
from typing import Any

from convrag.api.records import Report
from convrag.registry.module_source import find_module

LINES = frozenset({"convrag_run_finished", "convrag_sweep_finished", "convrag_conversations_ended"})
"""The observing hooks that return a line for the terminal."""

CHECKED = LINES | {"convrag_report", "convrag_sweep_report", "convrag_sweep_check"}
"""The observing hooks whose results are used."""


class NonsenseResult(Exception):
    """A hook returned what it cannot return; the message goes on from "convrag_report returned"."""


def check_result(hook: str, result: Any) -> Any:
    """The result of one implementation of a hook, with an iterable of messages as a list.

    Raises:
        NonsenseResult: it is none that the hook may have.
    """
    if result is None or hook not in CHECKED:
        return result
    if hook in LINES:
        if not isinstance(result, str):
            raise NonsenseResult(f"{brief(result)}, and a line for the terminal is a string")
        return result
    if hook != "convrag_sweep_check":
        if not isinstance(result, Report):
            raise NonsenseResult(f"{brief(result)}, which is no convrag.Report")
        return result
    if isinstance(result, str) or not isinstance(result, Iterable):
        raise NonsenseResult(f"{brief(result)}, which is no list of messages")
    messages = list(result)
    if not all(isinstance(message, str) for message in messages):
        raise NonsenseResult(f"{brief(messages)}, and messages are strings")
    return messages


def check_results(hook: str, results: Any) -> list[Any]:
    """The results that a wrapper hands on. Raises NonsenseResult for what is no list of them."""
    if not isinstance(results, list):
        raise NonsenseResult(f"{brief(results)}, and a wrapper returns the list that it was given, or another one")
    return [checked for each in results if (checked := check_result(hook, each)) is not None]


def check_packages(packages: Any) -> list[str]:
    """The names that `convrag_config_packages` returned. Raises NonsenseResult where they are no list of names."""
    if isinstance(packages, str) or not isinstance(packages, Iterable):
        raise NonsenseResult(f'{brief(packages)}, which is no list of packages: ["acme.conf"]')
    names = list(packages)
    if not all(isinstance(name, str) for name in names):
        raise NonsenseResult(f'{brief(names)}, and packages are named by strings: ["acme.conf"]')
    return names


def explain_missing_package(name: str) -> str:
    """What is wrong with the name of a package that holds YAML, as it goes on from "named"; empty where it is one."""
    spec = find_module(name)
    if spec is None:
        return f"{name!r}, and there is no such package"
    if spec.submodule_search_locations is None:
        return f"{name!r}, which is a module: YAML lies in a package, a folder with an __init__.py"
    if spec.origin is None:
        return f"{name!r}, which has no __init__.py"
    return ""
