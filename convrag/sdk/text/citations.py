"""The citations of an answer, `[1]`, `[1, 2]` and `[1][2]`: they are found and checked."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

# Code is matched first and stays unchanged: `items[0]` is no citation.
_CODE_OR_CITATION = re.compile(
    r"```.*?```|`[^`\n]*`|(?<![^\S\n])(?P<gap>[^\S\n]*)\[\s*(?P<numbers>\d+(?:\s*[,;]\s*\d+)*)\s*\]",
    re.DOTALL,
)


class CitationMark(NamedTuple):
    """A mark in a text that cites numbers: "[1]" or "[1, 2]".

    Args:
        start: of the mark, in characters of the text.
        end: the character after its last one.
        numbers: those that it cites.
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
    """Find the citations in a text, in order. Subscripts in code (`items[0]`) are none.

    Example:
        >>> [mark.numbers for mark in find_citations("Dogs bark [1], cats do not [2, 3].")]
        [(1,), (2, 3)]
    """
    for match in _CODE_OR_CITATION.finditer(text):
        if match["numbers"] is not None:
            yield CitationMark(
                match.start() + len(match["gap"]),
                match.end(),
                tuple(_find_numbers(match["numbers"])),
            )


def blank_citations(text: str) -> str:
    """A text with spaces in place of its citations, so that all else stays where it is; [1999] is a
    year, and stays.
    """
    return _CODE_OR_CITATION.sub(
        lambda found: " " * len(found[0]) if _cites(found) else found[0], text
    )


def strip_citations(text: str) -> str:
    """A text without its citations, the space before them and white space around it; [1999] is a
    year, and stays.
    """
    return _CODE_OR_CITATION.sub(lambda found: "" if _cites(found) else found[0], text).strip()


def _cites(found: re.Match[str]) -> bool:
    return found["numbers"] is not None and all(
        0 <= number < 1000 for number in _find_numbers(found["numbers"])
    )


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

    found = -1
    while removed > found:  # without its inner mark, "[1[9]]" is a citation
        found = removed
        text = _CODE_OR_CITATION.sub(keep_known, text)
    return CheckedCitations(text.strip(), tuple(cited), removed)


def _find_numbers(marks: str) -> list[int]:
    """The numbers in "1, 2; 3". One of ten digits or more is -1: Python refuses to convert
    thousands of digits.
    """
    return [int(number) if len(number) < 10 else -1 for number in re.findall(r"\d+", marks)]
