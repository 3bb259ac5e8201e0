"""Splits a text of any script into sentences, in a time that grows with its length, whatever it holds.

`convrag.sdk.sentences` reads English more exactly, and takes too long for documents of many megabytes.
"""

import re
from collections.abc import Iterator

from convrag_chunkers.token_spans import trim_span

_CLOSERS = r"[\"'”’»›)\]}」』】〉》）］]"
_BREAKS = r"\n\r\f\v\u0085\u2028\u2029"
_ITEM = r"(?:[-*+•◦▪‣–]|\#{1,6}|\d{1,3}[.)])(?=\s)|[|>]|`{3}|~{3}"
# Possessive quantifiers (++) and atomic groups, so that no character is read many times over.
_CANDIDATE = re.compile(
    rf"""
    (?P<mark> [.!?…‽؟۔।॥։]++ (?: {_CLOSERS} | [\ \u00a0\u202f]» )*+ )
    | (?P<end> [。！？｡．።။]++ {_CLOSERS}*+ )
    | (?P<line> (?> \r\n | [{_BREAKS}] ) [^\S{_BREAKS}]*+ (?: [{_BREAKS}] | {_ITEM} ) )
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[\"“‘«]*\Z")

_NAMED = """
adm approx bzw ca capt cf cmdr col dipl dr eg evtl fr gen ggf gov hon hr hrn hrsg ie ing inkl lt mme mr mrs ms mt
mx prof rep rev sen sgt sig sra st ud vgl viz vs zb
"""
"""Abbreviations that a name or a noun follows (English, German, French, Italian, Spanish)."""
_NUMBERED = """
abs al apr art aug bd ch dec dez ed eq feb fig figs jan jul jun kap mar mär no nos nov nr núm oct okt op par pp
sec sect sep sept tab vol
"""
"""Abbreviations that a number follows."""
_BEFORE_NAMES, _BEFORE_NUMBERS = frozenset(_NAMED.split()), frozenset(_NUMBERED.split())
_ENDS_IN_LETTERS = frozenset(["a.m", "p.m", "etc"])


def find_sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each sentence of a span in order, without white space around it.

    A sentence ends after a mark of its script with space after it, in Chinese and Japanese without one; not after an
    abbreviation or the number of a list item, nor before a small letter or the end of a table's cell. A blank line ends
    it, and so does a line that begins a list item, a heading, a table or a code block in Markdown; other line breaks do
    not, as lines may be wrapped. Every character that is no white space belongs to one sentence.
    """
    begin = start
    for found in _CANDIDATE.finditer(text, start, end):
        place = found.start() + 1 if found.lastgroup == "line" else found.end()
        if found.lastgroup == "mark" and not _ends_sentence(text, begin, found.start(), place, end):
            continue
        first, last = trim_span(text, begin, place)
        if first < last:
            yield first, last
        begin = place
    first, last = trim_span(text, begin, end)
    if first < last:
        yield first, last


def _ends_sentence(text: str, begin: int, mark: int, place: int, end: int) -> bool:
    """Whether the mark from `mark` to `place` ends the sentence that begins at `begin`."""
    if place >= end:
        return True
    if not text[place].isspace():
        return False
    following = text[place : min(place + 50, end)].lstrip()[:1]
    if following.islower() or following == "|":
        return False
    if text[mark] != "." or not text[mark + 1 : mark + 2].isspace():  # "..." and "?" end it, and so does "(so.)"
        return True
    word = _LAST_WORD.search(text, max(begin, mark - 20), mark)
    last = word[0].lstrip("'") if word else ""
    return not _is_abbreviated(last, following) and not _is_item_number(text, begin, mark)


def _is_abbreviated(word: str, following: str) -> bool:
    """Whether the period after a word marks an abbreviation."""
    if len(word) == 1:
        return word.isalpha() and word != "I"  # an initial, "z. B."
    if "." in word:  # "U.S" and "Ph.D", not "example.org" and "3.2"
        short = all(len(part) < 3 and not part.isdigit() for part in word.split("."))
        return short and word.lower() not in _ENDS_IN_LETTERS
    known = word.lower()
    return known in _BEFORE_NAMES or (known in _BEFORE_NUMBERS and (following.isdigit() or following == "("))


def _is_item_number(text: str, begin: int, mark: int) -> bool:
    """Whether all that stands before the mark is the number of an item: "3", "3.2", "iv"."""
    item = text[begin:mark].strip() if mark - begin < 40 else ""
    return 0 < len(item) <= 8 and (item.replace(".", "").isdigit() or not any(map(str.isalpha, item)))
