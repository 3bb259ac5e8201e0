"""Where a plugin's mistake is: the file and the line of an error, or of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from traceback import walk_tb
from typing import Any

from convrag.api.errors import ConvragError


def locate_error(error: BaseException, packages: Collection[str]) -> str:
    """Return the place where an error was raised ("/site/acme/rewriter.py, line 12"); empty where that is not known.

    It is the innermost line of these packages, or of all code where no line of theirs was reached: an error that shows
    in a library is the plugin's that called it.

    Args:
        error: with its traceback.
        packages: top-level names of modules.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return _format_place(error.filename, error.lineno)
    reached = [
        (frame.f_globals.get("__name__", ""), frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    theirs = [place for place in reached if str(place[0]).partition(".")[0] in packages]
    return _format_place(*(theirs or reached)[-1][1:]) if reached else ""


def describe_fault(error: Exception, cls: type, method: str) -> str:
    """Describe what a method of a plugin's class raised: the plugin's class, the error, its file and its line.

    A ConvragError is meant for the user, so it is described by its message alone.
    """
    if isinstance(error, ConvragError):
        return str(error)
    place = f" ({found})" if (found := locate_error(error, {find_package(cls)})) else ""
    raised = f"{cls.__module__}.{cls.__qualname__}.{method} raised {type(error).__name__}: {error}"
    return f"this should not have happened: {raised}{place}"


def locate_function(function: Callable[..., Any]) -> str:
    """Return the place where a function begins; empty where it has no Python code."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return _format_place(code.co_filename, code.co_firstlineno) if code else ""


def find_package(thing: object) -> str:
    """Return the top-level name of a module: of its name, or of that which a class, function or object is from."""
    module = thing if isinstance(thing, str) else getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    return str(module).partition(".")[0]


def _format_place(file: str, line: int | None) -> str:
    return f"{file}, line {line}" if line else file
