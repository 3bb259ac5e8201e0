"""The labels of nuggets, as people and models write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

Importance = Literal["vital", "okay"]
Assignment = Literal["support", "partial", "none"]
Reader = Callable[[str], str | None]

_BETWEEN = re.compile(r"[^a-z]+")
_ASSIGNMENTS: dict[str, Assignment] = {
    **dict.fromkeys(("support", "supports", "supported", "full", "full_support", "fully_supported"), "support"),
    **dict.fromkeys(("partial", "partially", "partial_support", "partially_support"), "partial"),
    **dict.fromkeys(("partially_supported", "partially_supports", "partly_supported"), "partial"),
    **dict.fromkeys(("none", "no_support", "not_support", "not_supported", "unsupported", "non_support"), "none"),
}
_IMPORTANCES: dict[str, Importance] = {
    "vital": "vital",
    **dict.fromkeys(("okay", "ok", "non_vital", "not_vital"), "okay"),
}


def importance_of(label: str) -> Importance | None:
    """How important a nugget is; None for what is no such label."""
    return _IMPORTANCES.get(_plain(label))


def assignment_of(label: str) -> Assignment | None:
    """Whether an answer supports a nugget; None for what is no such label."""
    return _ASSIGNMENTS.get(_plain(label))


def _plain(label: str) -> str:
    """Lower case, with one underscore for whatever stands between words."""
    return _BETWEEN.sub("_", label.lower()).strip("_")
