"""Splits texts of any script into sentences, as spans or as texts.

Rules for marks, abbreviations and line breaks find the ends, in a time that grows with the length
of the text, whatever it holds.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from convrag.sdk.text.analysis import read_lists
from convrag.sdk.text.tokens import COUNTED_WORD

# The lookbehind keeps the search from starting again at each space of a long row of spaces.
_CITATION = re.compile(r"(?<![^\S\n])[^\S\n]*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]")

_CLOSERS = r"[\"'”’»›)\]}」』】〉》）］]"
_BREAKS = r"\n\r\f\v\u0085\u2028\u2029"
_ITEM = r"(?:[-*+•◦▪‣–]|\#{1,6}|\d{1,3}[.)])(?=\s)|[|>]|`{3}|~{3}"
# Possessive quantifiers (++) and atomic groups, so that no character is read many times over.
_CANDIDATE = re.compile(
    rf"""
    (?P<mark> [.!?…‽؟۔।॥։]++
        (?: {_CLOSERS} | [\ \u00a0\u202f]» | \s(?:''|[”’])(?=\s) | \[[\d\ ,;–-]++\] )*+ )
    | (?P<end> [。！？｡．។။]++ {_CLOSERS}*+ )
    | (?P<line> (?> \r\n | [{_BREAKS}] ) )
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[\"“‘«]*\Z")
_NEW_LINE = re.compile(rf"[^\S{_BREAKS}]*+(?:[{_BREAKS}]|{_ITEM}|\Z)", re.VERBOSE)
"""The beginning of a line that does not continue the one before: an empty line, an item, a heading,
a table, code.
"""

_BEFORE_NAMES, _BEFORE_NUMBERS = read_lists(Path(__file__).with_suffix(".txt")).values()
_ENDS_IN_LETTERS = frozenset(["a.m", "p.m", "etc"])
_GERMAN = re.compile(
    r"\b(?:der|die|das|dem|den|des|am|im|vom|zum|bis|und|ist|wird|seit|ab)\b", re.IGNORECASE
)
_MONTH = re.compile(r"\s*(?:Jan|Feb|Mär|Mar|Apr|Ma[iy]|Jun|Jul|Aug|Sep|Okt|Oct|Nov|De[zc])")
_JOINS = re.compile(
    r"(?:[,(–—]|\b(?:a|an|the|of|in|on|at|to|for|with|by|from|and|or|within|as|than|that|der|die"
    r"|das|und|oder|von|mit|für|im|am|zu|bei|aus|den|dem|des|eine?|bis))\Z",
    re.IGNORECASE,
)
"""The end of a line after which a sentence continues."""

BULLET = r"(?:[-*+•◦▪‣–]|\d{1,3}[.)])"
"""The mark of an item of a list, as a pattern."""

_FIELD = re.compile(r"[^:;\n]{1,80}: ")
"""The name of a field at the beginning of a line: "item: laptop"."""

_NEAR = 400
"""Characters before and after a line break whose lines are compared."""

_NARROWEST = 40
_WIDEST = 160
"""Width of wrapped text, in characters of its longest line."""


def find_sentence_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    r"""Find the (start, end) of each sentence of a text, or of a part of it, in order.

    A span has no white space around it. A sentence ends after a mark of its script with space after
    it, in Chinese and Japanese without one; not after an abbreviation, the number of a list item or
    of a German date, nor before a small letter or the end of a table's cell. A line break ends it,
    too, since titles and items often have no mark; but not in a line that was wrapped: the next
    line continues with a small letter, or this one ends with a comma or "of", or had no room for
    the next word. A part without letters belongs to the next sentence.

    Example:
        >>> text = "The fare is paid within\nGermany. It is due on 3. März."
        >>> [text[slice(*span)] for span in find_sentence_spans(text)]
        ['The fare is paid within\nGermany.', 'It is due on 3. März.']
    """
    end = len(text) if end is None else end
    spans: list[tuple[int, int]] = []
    begin = start
    for found in _CANDIDATE.finditer(text, start, end):
        place = found.end()
        if found.lastgroup == "mark" and not _ends_sentence(text, begin, found.start(), place, end):
            continue
        if found.lastgroup == "line" and not _ends_line(text, begin, found.start(), place, end):
            continue
        spans.append((begin, place))
        begin = place
    spans.append((begin, end))
    trimmed = [_trim(text, *span) for span in spans]
    with_text = [(first, last) for first, last in trimmed if first < last]
    return list(_join_without_letters(text, with_text))


def _ends_sentence(text: str, begin: int, mark: int, place: int, end: int) -> bool:
    """Tell whether the mark from `mark` to `place` ends the sentence that begins at `begin`."""
    if place >= end:
        return True
    if not text[place].isspace():
        return False
    following = text[place : min(place + 50, end)].lstrip()[:1]
    if following.islower() or following == "|":
        return False
    is_single_period = text[mark] == "." and text[mark + 1 : mark + 2].isspace()
    if not is_single_period:  # "...", "?" and "(so.)" end it
        return True
    if _is_item_number(text, begin, mark):
        return False
    word = _LAST_WORD.search(text, max(begin, mark - 20), mark)
    last = word[0].lstrip("'") if word else ""
    if last.isdigit() and len(last) < 3 and following.isupper():
        return not _is_german_ordinal(text, begin, mark, place)
    return not _is_abbreviated(last, following)


def _is_german_ordinal(text: str, begin: int, mark: int, place: int) -> bool:
    """Tell whether the period after a number marks an ordinal: "31. März", "der 2. Weltkrieg"."""
    if _MONTH.match(text, place):
        return True
    return _GERMAN.search(text, max(begin, mark - 200), mark) is not None


def _is_abbreviated(word: str, following: str) -> bool:
    """Tell whether the period after a word marks an abbreviation."""
    if len(word) == 1:
        return word.isalpha() and word != "I"  # an initial, "z. B."
    if "." in word:  # "U.S" and "Ph.D", not "example.org" and "3.2"
        short = all(len(part) < 3 and not part.isdigit() for part in word.split("."))
        return short and word.lower() not in _ENDS_IN_LETTERS
    known = word.lower()
    if known in _BEFORE_NUMBERS and (following.isdigit() or following == "("):
        return True
    return known in _BEFORE_NAMES


def _is_item_number(text: str, begin: int, mark: int) -> bool:
    """Tell whether the text before the mark is an item's number, without letters: "3", "3.2"."""
    if mark - begin >= 40:
        return False
    item = text[begin:mark].strip()
    return 0 < len(item) <= 8 and not any(map(str.isalpha, item))


def _ends_line(text: str, begin: int, mark: int, place: int, end: int) -> bool:
    """Tell whether a line break ends a sentence, rather than a wrapped line."""
    if place >= end or _NEW_LINE.match(text, place, end) or not text[begin:mark].strip():
        return True
    before = text[max(0, mark - _NEAR) : mark].rpartition("\n\n")[2].splitlines()
    after = text[place : min(place + _NEAR, end)].partition("\n\n")[0].splitlines()
    line = before[-1]
    following = after[0].lstrip()
    if line.lstrip().startswith(("#", "|", "`" * 3)):
        return True
    if _FIELD.match(line) and _FIELD.match(following):
        return True
    if following[:1] == "(" or _JOINS.search(line.rstrip()):
        return False
    if following[:1].islower() and not text[begin:mark].lstrip()[0].islower():
        return False
    width = max(map(len, (*before, *after)))
    if not _NARROWEST <= width <= _WIDEST:
        return True
    next_word = following.split()[0]
    return len(line) + 1 + len(next_word) <= width


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Move the ends of a span inward over white space; a blank span becomes empty."""
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    last = start + len(part.rstrip())
    return first, last


def _join_without_letters(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join each span without letters to the next span."""
    first: int | None = None
    for start, end in spans:
        if any(map(str.isalpha, text[start:end])):
            yield start if first is None else first, end
            first = None
        elif first is None:
            first = start
    if first is not None:
        yield first, spans[-1][1]


def get_first_sentence(text: str) -> str:
    """Return the first sentence of a text; empty if it has none.

    Example:
        >>> get_first_sentence("Set it to 80 degrees. Wait two minutes.")
        'Set it to 80 degrees.'
    """
    return next((text[start:end] for start, end in find_sentence_spans(text)), "")


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[str, ...]:
    """Split a text into its sentences, each on one line.

    Numbers in square brackets are removed, since in a prompt they would look like citations of its
    passages.
    """
    plain = remove_citations(text)
    return tuple(" ".join(plain[start:end].split()) for start, end in find_sentence_spans(plain))


_ROUGH_END = re.compile(r"(?<=[.!?])\s+|\n+")


def split_roughly(text: str) -> list[str]:
    """Split a text fast, after every end mark and at line breaks.

    It also splits after abbreviations, which does not matter where repeated sentences or the
    beginning of a reply are recognised.
    """
    return _ROUGH_END.split(text)


def remove_citations(text: str) -> str:
    """Remove numbers in square brackets from a text.

    Example:
        >>> remove_citations("Dogs bark [1], cats do not [2, 3].")
        'Dogs bark, cats do not.'
    """
    return _CITATION.sub("", text)


def truncate_text(text: str, tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return the longest beginning of a text, in whole words, of at most `tokens` tokens."""
    if count_tokens(text) <= tokens:
        return text
    ends = [0, *(word.end() for word in COUNTED_WORD.finditer(text))]
    too_long = bisect_right(ends, tokens, 1, key=lambda end: count_tokens(text[:end]))
    return text[: ends[too_long - 1]]
