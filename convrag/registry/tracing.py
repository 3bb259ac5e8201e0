"""`CONVRAG_TRACE=1`: a line on standard error for each call of a plugin's hook."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from reprlib import Repr
from typing import Any

_brief = Repr()
_brief.maxstring = _brief.maxother = 60


def is_tracing() -> bool:
    """Whether calls are traced."""
    return os.environ.get("CONVRAG_TRACE", "") not in ("", "0")


def call_traced(hook: str, plugin: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a hook of a plugin, and trace it where that is wanted. Raises what the function raises."""
    if not is_tracing():
        return function(**arguments)
    start = time.perf_counter()
    outcome = ""
    try:
        result = function(**arguments)
        outcome = "" if result is None else f" -> {_brief.repr(result)}"
        return result
    except BaseException as error:
        outcome = f" raised {_brief.repr(error)}"
        raise
    finally:
        write_trace(hook, plugin, arguments, start, outcome)


def write_trace(hook: str, plugin: str, arguments: Iterable[str], start: float, outcome: str = "") -> None:
    """Write the line of a call that has ended, where that is wanted.

    What hooks are given is not shown, for it may hold whole conversations.

    Args:
        hook: the hook's name.
        plugin: whose implementation it is ("convrag:ginger").
        arguments: their names.
        start: when the call began (`time.perf_counter()`).
        outcome: what it gave (" -> ...") or raised (" raised ...").
    """
    if is_tracing():
        took = 1000 * (time.perf_counter() - start)
        sys.stderr.write(f"convrag: trace: {hook}({', '.join(arguments)}) of {plugin}, {took:.1f} ms{outcome}\n")


def argument_names(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that pluggy passes to an implementation, in order."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [each.name for each in inspect.signature(function).parameters.values() if each.kind in kinds]
    return given[1:] if given[:1] in (["self"], ["cls"]) else given
