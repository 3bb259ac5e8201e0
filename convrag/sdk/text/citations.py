"""Finds and checks the citations of an answer: `[1]`, `[1, 2]` and `[1][2]`."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

# Code is matched first and stays unchanged: `items[0]` is not a citation.
_CODE_OR_CITATION = re.compile(
    r"```.*?```|`[^`\n]*`"
    r"|(?<![^\S\n])(?P<gap>[^\S\n]*)\[\s*(?P<numbers>\d+(?:\s*[,;]\s*\d+)*)\s*\]",
    re.DOTALL,
)


class CitationMark(NamedTuple):
    """A mark in a text that cites numbers: "[1]" or "[1, 2]".

    Args:
        start: of the mark, in characters of the text.
        end: the character after its last one.
        numbers: the numbers that it cites.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


class CheckedCitations(NamedTuple):
    """A text with valid citations only.

    Args:
        text: without the citations that were removed.
        citations: the cited ids, in order of first mention.
        removed: how many citations were removed.
    """

    text: str
    citations: tuple[str, ...]
    removed: int


def find_citations(text: str) -> Iterator[CitationMark]:
    """Find the citations in a text, in order, but not subscripts in code (`items[0]`).

    Example:
        >>> [mark.numbers for mark in find_citations("Dogs bark [1], cats do not [2, 3].")]
        [(1,), (2, 3)]
    """
    for match in _CODE_OR_CITATION.finditer(text):
        if match["numbers"] is not None:
            start = match.start() + len(match["gap"])
            yield CitationMark(start, match.end(), tuple(_find_numbers(match["numbers"])))


def blank_citations(text: str) -> str:
    """Replace the citations of a text by spaces, so that all else stays where it is.

    [1999] is a year, and stays.
    """

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0]) if _is_citation(match) else match[0]

    return _CODE_OR_CITATION.sub(blank, text)


def strip_citations(text: str) -> str:
    """Remove the citations of a text, the space before them, and white space around the text.

    [1999] is a year, and stays.
    """

    def remove(match: re.Match[str]) -> str:
        return "" if _is_citation(match) else match[0]

    return _CODE_OR_CITATION.sub(remove, text).strip()


def _is_citation(match: re.Match[str]) -> bool:
    """Tell whether a match is a citation, rather than code or a year."""
    if match["numbers"] is None:
        return False
    return all(0 <= number < 1000 for number in _find_numbers(match["numbers"]))


def check_citations(text: str, passages: Mapping[int, str]) -> CheckedCitations:
    """Remove citations of numbers that no passage has.

    Args:
        text: an answer.
        passages: number -> passage id.

    Example:
        >>> check_citations("Yes [1, 9].", {1: "tea-2"})
        CheckedCitations(text='Yes [1].', citations=('tea-2',), removed=1)
    """
    cited: dict[str, None] = {}
    removed = 0

    def keep_known(match: re.Match[str]) -> str:
        nonlocal removed
        if match["numbers"] is None:
            return match[0]
        cited_numbers = _find_numbers(match["numbers"])
        known = [number for number in cited_numbers if number in passages]
        cited.update((passages[number], None) for number in known)
        removed += len(cited_numbers) - len(known)
        if len(known) == len(cited_numbers):
            return match[0]
        return f"{match['gap']}[{', '.join(map(str, known))}]" if known else ""

    removed_before = -1
    while removed > removed_before:  # without its inner mark, "[1[9]]" is a citation
        removed_before = removed
        text = _CODE_OR_CITATION.sub(keep_known, text)
    return CheckedCitations(text.strip(), tuple(cited), removed)


def _find_numbers(marks: str) -> list[int]:
    """Find the numbers in "1, 2; 3".

    A number of ten digits or more becomes -1, since Python refuses to convert thousands of digits.
    """
    return [int(number) if len(number) < 10 else -1 for number in re.findall(r"\d+", marks)]
