"""Nuggets, and labels of their importance and of an answer's support, in any spelling."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

Importance = Literal["vital", "okay"]
Assignment = Literal["support", "partial", "none"]
LabelParser = Callable[[str], str | None]

_SEPARATORS = re.compile(r"[^a-z]+")
_IMPORTANCE_SPELLINGS: dict[Importance, list[str]] = {
    "vital": ["vital"],
    "okay": ["okay", "ok", "non_vital", "not_vital"],
}
_ASSIGNMENT_SPELLINGS: dict[Assignment, list[str]] = {
    "support": ["support", "supports", "supported", "full", "full_support", "fully_supported"],
    "partial": [
        "partial",
        "partially",
        "partial_support",
        "partially_support",
        "partially_supported",
        "partially_supports",
        "partly_supported",
    ],
    "none": [
        "none",
        "no_support",
        "not_support",
        "not_supported",
        "unsupported",
        "non_support",
    ],
}


@dataclass(frozen=True)
class NuggetSet:
    """The nuggets of a turn.

    `importance` has a label for each, or is empty where they have none.
    """

    texts: tuple[str, ...]
    importance: tuple[str, ...] = ()


@dataclass(frozen=True)
class NuggetLabels:
    """An assessor's labels for the answer of a turn.

    The nuggets' `texts` and the number of `words` in the answer are optional.
    """

    assessor: str
    importance: tuple[str, ...]
    assignment: tuple[str, ...]
    texts: tuple[str, ...] = ()
    words: int | None = None


def parse_importance(label: str) -> Importance | None:
    """Parse a label of importance in any case and spelling; None for anything else."""
    return _find_spelling(label, _IMPORTANCE_SPELLINGS)


def parse_assignment(label: str) -> Assignment | None:
    """Parse a label of support in any case and spelling; None for anything else."""
    return _find_spelling(label, _ASSIGNMENT_SPELLINGS)


def _find_spelling(label: str, spellings: Mapping[T, Sequence[str]]) -> T | None:
    normalised = _SEPARATORS.sub("_", label.lower()).strip("_")
    for meaning, texts in spellings.items():
        if normalised in texts:
            return meaning
    return None
