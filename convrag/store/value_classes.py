"""The classes whose objects a remembered method may return: those of convrag.api and of its return annotation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

from convrag.api import records, types


def find_classes(*methods: Callable[..., Any]) -> dict[str, type]:
    """Find the dataclasses, named tuples and enums of convrag.api, and those in the return annotations: name -> class.

    Classes that are the type of a field of another one are found too.
    """
    found = dict(_list_api_classes())
    for method in methods:
        _collect(read_return_annotation(method), found, set())
    return found


def read_return_annotation(method: Callable[..., Any]) -> Any:
    """Read what a method says it returns; None if there is no annotation, or it names what cannot be found."""
    annotation = getattr(method, "__annotations__", {}).get("return")
    return _evaluate({"return": annotation}, method.__module__).get("return")


def _collect(annotation: Any, found: dict[str, type], seen: set[int]) -> None:
    if id(annotation) in seen:
        return
    seen.add(id(annotation))
    for part in get_args(annotation):
        _collect(part, found, seen)
    if not isinstance(annotation, type):
        return
    if _is_kept(annotation) and not annotation.__module__.startswith("convrag.api."):
        found[f"{annotation.__module__}.{annotation.__qualname__}"] = annotation
    for base in annotation.__mro__:
        for hint in _evaluate(vars(base).get("__annotations__", {}), base.__module__).values():
            _collect(hint, found, seen)


def _evaluate(annotations: dict[str, Any], module: str) -> dict[str, Any]:
    """Evaluate annotations one by one, leaving out those that name something unknown."""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    evaluated: dict[str, Any] = {}
    for name, annotation in annotations.items():
        try:
            evaluated |= get_type_hints(SimpleNamespace(__annotations__={name: annotation}), globalns=names)
        except Exception:
            continue  # imported for type checkers only
    return evaluated


def _is_kept(cls: type) -> bool:
    return is_dataclass(cls) or issubclass(cls, Enum) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


@cache
def _list_api_classes() -> tuple[tuple[str, type], ...]:
    return tuple(_iterate_api_classes())


def _iterate_api_classes() -> Iterator[tuple[str, type]]:
    for module in (types, records):
        for name, member in vars(module).items():
            if isinstance(member, type) and member.__module__ == module.__name__ and _is_kept(member):
                yield name, member
