"""Checks the citations of an answer: `[1]`, `[1, 2]` and `[1][2]` must name passages of the evidence."""

from __future__ import annotations

import re
from typing import NamedTuple

from convrag.types import Evidence

# Code is matched first, and left alone: `items[0]` cites nothing.
_CODE_OR_CITATION = re.compile(
    r"```.*?```|`[^`\n]*`|(?P<gap>[^\S\n]*)\[\s*(?P<numbers>\d+(?:\s*[,;]\s*\d+)*)\s*\]", re.DOTALL
)


class Checked(NamedTuple):
    """A text whose citations all exist, the ids that it cites in order of first mention, and how many it lost."""

    text: str
    citations: tuple[str, ...]
    removed: int


def check_citations(text: str, evidence: Evidence) -> Checked:
    """Remove the citations of numbers that no passage of the evidence has."""
    ids = {item.number: item.passage.id for item in evidence.items}
    cited: dict[str, None] = {}
    removed = 0

    def keep_known(match: re.Match[str]) -> str:
        nonlocal removed
        if match["numbers"] is None:
            return match[0]
        numbers = [int(number) for number in re.findall(r"\d+", match["numbers"])]
        known = [number for number in numbers if number in ids]
        cited.update((ids[number], None) for number in known)
        if len(known) == len(numbers):
            return match[0]
        removed += len(numbers) - len(known)
        return f"{match['gap']}[{', '.join(map(str, known))}]" if known else ""

    return Checked(_CODE_OR_CITATION.sub(keep_known, text).strip(), tuple(cited), removed)
