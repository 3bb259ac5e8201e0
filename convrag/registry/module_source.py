"""Modules as their source has them: found and read without importing them."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any


class WrongPath(Exception):
    """There is no such module, or no such class in it."""


def find_module(name: str) -> ModuleSpec | None:
    """Where a module lies; None where there is none. Of a dotted name nothing is imported, the packages included."""
    top, *inner = name.split(".")
    if not all(part.isidentifier() for part in (top, *inner)):
        return None
    try:
        spec = find_spec(top)
    except ValueError:  # a module that somebody made up has no place
        return None
    for depth, _ in enumerate(inner, 2):
        if spec is None or spec.submodule_search_locations is None:
            return None
        path, dotted = spec.submodule_search_locations, ".".join(name.split(".")[:depth])
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((found for finder in finders if (found := finder.find_spec(dotted, path))), None)
    return spec


@cache
def read_module(name: str) -> str | None:
    """The text of a module; None where it has none (a compiled one, a package without `__init__.py`).

    Raises:
        WrongPath: there is no such module.
    """
    spec = find_module(name)
    if spec is None:
        raise WrongPath(f"there is no module {name}")
    read = getattr(spec.loader, "get_source", None)
    try:
        return read(name) if read else None
    except (ImportError, UnicodeError, SyntaxError):  # who imports it hears what is wrong with it
        return None


def resolve_relative(named: str, module: str) -> str:
    """A relative module as an absolute one."""
    dots = len(named) - len(named.lstrip("."))
    if not dots:
        return named
    spec = find_module(module)
    package = module if spec and spec.submodule_search_locations is not None else module.rpartition(".")[0]
    for _ in range(dots - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{named.lstrip('.')}".rstrip(".")


def read_literal(text: str) -> Any:
    """The literal that a text begins with: a bracketed one, or one on a line; None where it is an expression."""
    closing = {"{": "}", "[": "]", "(": ")"}.get(text[:1])
    ends = [found.end() for found in re.finditer(re.escape(closing) if closing else r"$", text, re.MULTILINE)]
    for end in ends[:20]:
        try:
            return ast.literal_eval(text[:end])
        except (SyntaxError, ValueError):
            if not closing:
                return None
    return None
