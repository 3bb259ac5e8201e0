"""Finds and checks the citations of an answer: `[1]`, `[1, 2]` and `[1][2]`."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

_CITATION = re.compile(r"\[\s*(?P<numbers>\d+(?:\s*[,;]\s*\d+)*)\s*\]")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_FENCE = "```"

_MOST_NESTED = 100
"""Levels of marks within marks that are removed; the text of nobody who cites has more."""


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
    for match in _find_marks(text):
        yield CitationMark(match.start(), match.end(), tuple(_find_numbers(match["numbers"])))


def blank_citations(text: str) -> str:
    """Replace the citations of a text by spaces, so that all else stays where it is.

    [1999] is a year, and stays.
    """
    return _replace_marks(text, lambda mark: " " * len(mark[0]) if _is_citation(mark) else None)


def strip_citations(text: str) -> str:
    """Remove the citations of a text, the space before them, and white space around the text.

    [1999] is a year, and stays.
    """
    return _replace_marks(text, lambda mark: "" if _is_citation(mark) else None).strip()


def _is_citation(match: re.Match[str]) -> bool:
    """Tell whether a mark is a citation, rather than a year."""
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

    def keep_known(match: re.Match[str]) -> str | None:
        nonlocal removed
        cited_numbers = _find_numbers(match["numbers"])
        known = [number for number in cited_numbers if number in passages]
        cited.update((passages[number], None) for number in known)
        removed += len(cited_numbers) - len(known)
        if len(known) == len(cited_numbers):
            return None
        return f"[{', '.join(map(str, known))}]" if known else ""

    for _ in range(_MOST_NESTED):  # without its inner mark, "[1[9]]" is a citation
        removed_before = removed
        text = _replace_marks(text, keep_known)
        if removed == removed_before:
            break
    return CheckedCitations(text.strip(), tuple(cited), removed)


def _find_marks(text: str) -> Iterator[re.Match[str]]:
    """Find the marks of a text outside of code, in order.

    A regular expression for marks and code would look at each character, and no other thread runs
    while it does; a reply may have megabytes.
    """
    tick = text.find("`")
    bracket = text.find("[")
    while bracket >= 0:
        if 0 <= tick < bracket:
            end = _find_code_end(text, tick)
            tick = text.find("`", end)
            if bracket < end:
                bracket = text.find("[", end)
            continue
        mark = _CITATION.match(text, bracket)
        if mark:
            yield mark
        bracket = text.find("[", mark.end() if mark else bracket + 1)


def _find_code_end(text: str, start: int) -> int:
    """Return where the code ends that a backtick begins, or the next character if none does."""
    if text.startswith(_FENCE, start):
        fence = text.find(_FENCE, start + len(_FENCE))
        if fence >= 0:
            return fence + len(_FENCE)
    code = _INLINE_CODE.match(text, start)
    return code.end() if code else start + 1


def _replace_marks(text: str, replace: Callable[[re.Match[str]], str | None]) -> str:
    """Replace the marks of a text.

    Args:
        text: the text.
        replace: gives what a mark is replaced by; "" removes the space before it too, and None
            keeps it.
    """
    parts = []
    place = 0
    for mark in _find_marks(text):
        replacement = replace(mark)
        if replacement is None:
            continue
        before = text[place : mark.start()]
        if not replacement:
            before = strip_gap(before)
        parts += [before, replacement]
        place = mark.end()
    return "".join([*parts, text[place:]])


def strip_gap(text: str) -> str:
    """Remove the white space at the end of a text, as far as the end of a line."""
    stripped = text.rstrip()
    gap = text[len(stripped) :]
    return stripped + gap[: gap.rfind("\n") + 1]


def _find_numbers(marks: str) -> list[int]:
    """Find the numbers in "1, 2; 3".

    A number of ten digits or more becomes -1, since Python refuses to convert thousands of digits.
    """
    return [int(number) if len(number) < 10 else -1 for number in re.findall(r"\d+", marks)]
