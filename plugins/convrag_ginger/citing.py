"""Citations: `[1]`, `[1, 2]`, `[1][2]` name passages of the evidence by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from convrag import Evidence

CITATIONS = re.compile(r"\s*(?:\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]\s*)+")
"""One or more citations, with the white space around them."""

_CITATION = re.compile(r"[^\S\n]*\[\s*(\d+(?:\s*[,;]\s*\d+)*)\s*\]")


def numbers_of(evidence: Evidence) -> dict[str, int]:
    """Passage id -> its number, the first where it stands twice."""
    return {item.passage.id: item.number for item in reversed(evidence.items)}


def cite(sentence: str, passages: Iterable[str], numbers: Mapping[str, int]) -> str:
    """A sentence with its citations behind it."""
    marks = "".join(f"[{number}]" for number in sorted(numbers[passage] for passage in passages))
    return f"{sentence} {marks}" if marks else sentence


def checked(text: str, evidence: Evidence) -> tuple[str, tuple[str, ...], int]:
    """A text without citations that name no passage, the ids that it cites by first mention, and how many it lost."""
    ids = {item.number: item.passage.id for item in reversed(evidence.items)}
    cited: dict[str, None] = {}
    removed = 0

    def keep_known(match: re.Match[str]) -> str:
        nonlocal removed
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        known = [number for number in numbers if number in ids]
        cited.update((ids[number], None) for number in known)
        if known == numbers:
            return match[0]
        removed += len(numbers) - len(known)
        return f" [{', '.join(map(str, known))}]" if known else ""

    return _CITATION.sub(keep_known, text).strip(), tuple(cited), removed


def without(text: str) -> str:
    """A text without numbers in square brackets: what stands in a passage must not look like a citation of ours."""
    return _CITATION.sub("", text)
