"""The text of a page of a PDF: words that were broken or drawn in parts are whole."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from convrag_documents.readers.pdf_lines import Line
from convrag_documents.readers.wrapped_lines import join_wrapped_lines

_FULL_LINE = 60
"""Characters of a line that reaches the margin, also in small columns."""

_SIZE_CHANGE = 1.15
"""A line whose letters are so many times larger or smaller is another paragraph: a heading, say."""

_PARAGRAPH_GAP = 2.5
"""A line that is so many letters' sizes below the one before is another paragraph."""

_LONGEST_WORD = 100
"""Characters of the longest word that may be broken."""

_SOFT_HYPHEN = "\u00ad"
_INVISIBLE = re.compile("[\0\u200b\u2060\ufeff]")
"""Signs within words that are not seen: NUL, zero-width space, word joiner, byte order mark."""

_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)
_WORD = re.compile(r"\w+(?:[-\u2010]\w+)*")
_BROKEN_WORD = re.compile(r"(\w+(?:[-\u2010]\w+)*)[-\u2010]$")
_FIRST_WORD = re.compile(r"[^\W\d_]\w*")


class PageText(NamedTuple):
    """The text of a page.

    Args:
        text: the text.
        starts: where each line begins in the text.
    """

    text: str
    starts: Sequence[tuple[int, Line]]


def clean_line(line: Line) -> Line:
    """Resolve the ligatures of a line, and remove what is not seen in it.

    A soft hyphen at its end stays: the word goes on.
    """
    return replace(line, text=clean_text(line.text))


def clean_text(text: str) -> str:
    """Resolve ligatures, and remove what is not seen, but a soft hyphen at the end."""
    text = _INVISIBLE.sub("", text).translate(_LIGATURES).rstrip()
    end = _SOFT_HYPHEN if text.endswith(_SOFT_HYPHEN) else ""
    return text.replace(_SOFT_HYPHEN, "") + end


def collect_words(lines: Iterable[Line]) -> set[str]:
    """Collect the words of lines in small letters; they tell how a broken word is written."""
    return {
        _normalize(word) for line in lines for word in _WORD.findall(line.text.strip(_SOFT_HYPHEN))
    }


def make_page_text(lines: Sequence[Line], words: Collection[str]) -> PageText:
    """Join the lines of a page; each field of a form is a line of its own.

    Args:
        lines: in reading order, clean.
        words: of the whole file.
    """
    parts: list[str] = []
    starts: list[tuple[int, Line]] = []
    length = 0
    for run in _split_runs(lines):
        text, run_starts = _join_lines(run, words)
        if not run[0].is_field:
            text = join_wrapped_lines(text, full=_FULL_LINE)
        starts += [(length + start, line) for start, line in zip(run_starts, run, strict=True)]
        parts.append(text)
        length += len(text) + 1
    text = "\n".join(parts)
    indent = len(text) - len(text.lstrip())
    text = text.strip()
    return PageText(
        text, [(min(max(start - indent, 0), len(text)), line) for start, line in starts]
    )


def _split_runs(lines: Sequence[Line]) -> list[list[Line]]:
    """Split lines into those that may go on in the next one: of one size, and no fields."""
    runs: list[list[Line]] = []
    for line in lines:
        if runs and _may_go_on(runs[-1][-1], line):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _may_go_on(line: Line, following: Line) -> bool:
    if line.is_field or following.is_field:
        return False
    if line.place is None or following.place is None:
        return True
    is_below = line.place.y - following.place.y > _PARAGRAPH_GAP * line.size
    is_alike = max(line.size, following.size) < _SIZE_CHANGE * min(line.size, following.size)
    return is_alike and not is_below


def _join_lines(lines: Sequence[Line], words: Collection[str]) -> tuple[str, list[int]]:
    """Join lines with line breaks, and words that were broken at their ends without.

    Returns:
        The text, and where each line begins in it.
    """
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for line in lines:
        text = line.text
        if parts:
            glue = _find_glue(parts[-1], text, words)
            if glue != "\n":
                text = text.lstrip()
            if glue == "" and parts[-1]:
                parts[-1] = parts[-1][:-1]
                length -= 1
            elif glue == "\n":
                parts[-1] += glue
                length += 1
        starts.append(length)
        parts.append(text)
        length += len(text)
    return "".join(parts).removesuffix(_SOFT_HYPHEN), starts


def _find_glue(line: str, following: str, words: Collection[str]) -> str:
    """Find what is between two lines.

    Returns:
        A line break; "-" where a hyphen at the end stays and the word goes on; nothing where the
        hyphen at the end is not part of the word.
    """
    if line.endswith(_SOFT_HYPHEN):
        return ""
    broken = _BROKEN_WORD.search(line[-_LONGEST_WORD:])
    goes_on = _FIRST_WORD.match(following.lstrip())
    if not broken or not goes_on or broken[1][-1].isdigit():
        return "\n"
    is_small = goes_on[0][0].islower()
    return "" if is_small and not _keeps_hyphen(broken[1], goes_on[0], words) else "-"


def _keeps_hyphen(left: str, right: str, words: Collection[str]) -> bool:
    """Whether the hyphen between the parts of a broken word belongs to it ("state-of-the-art").

    The file may have the word elsewhere. Otherwise a word keeps this hyphen if it has another one,
    and the part between them is a word of the file, too: "self-ref-erential" has no such part.
    """
    if _normalize(left + right) in words:
        return False
    if _normalize(f"{left}-{right}") in words:
        return True
    _, hyphen, last_part = _normalize(left).rpartition("-")
    return hyphen != "" and last_part in words


def _normalize(word: str) -> str:
    return word.replace("\u2010", "-").casefold()
