"""Checks what an answer cites: `[1]`, `[1, 2]` and `[1][2]` must be numbers of passages that were shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

# Code is matched first, and left alone: `items[0]` cites nothing.
_CODE_OR_CITATION = re.compile(
    r"```.*?```|`[^`\n]*`|(?P<gap>[^\S\n]*)\[\s*(?P<numbers>\d+(?:\s*[,;]\s*\d+)*)\s*\]", re.DOTALL
)


class CheckedCitations(NamedTuple):
    """A text whose citations all exist, the ids that it cites in order of first mention, and how many it lost."""

    text: str
    citations: tuple[str, ...]
    removed: int


def check_citations(text: str, passages: Mapping[int, str]) -> CheckedCitations:
    """Remove the citations of numbers that no passage has.

    Args:
        text: an answer.
        passages: number -> the id of its passage.
    """
    cited: dict[str, None] = {}
    removed = 0

    def known_only(match: re.Match[str]) -> str:
        nonlocal removed
        if match["numbers"] is None:
            return match[0]
        given = [int(number) for number in re.findall(r"\d+", match["numbers"])]
        known = [number for number in given if number in passages]
        cited.update((passages[number], None) for number in known)
        removed += len(given) - len(known)
        if len(known) == len(given):
            return match[0]
        return f"{match['gap']}[{', '.join(map(str, known))}]" if known else ""

    return CheckedCitations(_CODE_OR_CITATION.sub(known_only, text).strip(), tuple(cited), removed)
