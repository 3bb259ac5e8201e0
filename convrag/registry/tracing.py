"""`CONVRAG_TRACE=1`: a line on standard error for each call of a plugin's hook."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from reprlib import Repr
from typing import Any

_brief = Repr()
_brief.maxstring = _brief.maxother = 60


def is_tracing() -> bool:
    """Whether calls are call_traced."""
    return os.environ.get("CONVRAG_TRACE", "") not in ("", "0")


def call_traced(hook: str, plugin: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a hook of a plugin, and say so where that is wanted: its name, whose it is, how long it took, what it gave.

    What hooks are given is not shown, for it may hold whole conversations.
    """
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
        took = 1000 * (time.perf_counter() - start)
        sys.stderr.write(f"convrag: trace: {hook}({', '.join(arguments)}) of {plugin}, {took:.1f} ms{outcome}\n")
