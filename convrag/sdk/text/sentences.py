"""Splits texts of any script into sentences, as spans or as texts, and shortens an English sentence
by whole clauses.

Rules for marks, abbreviations and line breaks find the ends, in a time that grows with the length
of the text, whatever it holds.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from convrag.sdk.text.analysis import read_lists

# The lookbehind keeps the search from starting again at each space of a long row of spaces.
_CITATION = re.compile(r"(?<![^\S\n])[^\S\n]*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]")

_CLOSERS = r"[\"'”’»›)\]}」』】〉》）］]"
_BREAKS = r"\n\r\f\v\u0085\u2028\u2029"
_ITEM = r"(?:[-*+•◦▪‣–]|\#{1,6}|\d{1,3}[.)])(?=\s)|[|>]|`{3}|~{3}"
# Possessive quantifiers (++) and atomic groups, so that no character is read many times over.
_CANDIDATE = re.compile(
    rf"""
    (?P<mark> [.!?…‽؟۔।॥։]++ (?: {_CLOSERS} | [\ \u00a0\u202f]» | \s(?:''|[”’])(?=\s) | \[[\d\ ,;–-]++\] )*+ )
    | (?P<end> [。！？｡．។။]++ {_CLOSERS}*+ )
    | (?P<line> (?> \r\n | [{_BREAKS}] ) )
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"[^\s(\[\"“‘«]*\Z")
_NEW_LINE = re.compile(rf"[^\S{_BREAKS}]*+(?:[{_BREAKS}]|{_ITEM}|\Z)", re.VERBOSE)
"""The beginning of a line that does not go on with the one before: an empty one, an item, a
heading, a table, code.
"""

_BEFORE_NAMES, _BEFORE_NUMBERS = read_lists(Path(__file__).with_suffix(".txt")).values()
_ENDS_IN_LETTERS = frozenset(["a.m", "p.m", "etc"])
_GERMAN = re.compile(
    r"\b(?:der|die|das|dem|den|des|am|im|vom|zum|bis|und|ist|wird|seit|ab)\b", re.IGNORECASE
)
_MONTH = re.compile(r"\s*(?:Jan|Feb|Mär|Mar|Apr|Ma[iy]|Jun|Jul|Aug|Sep|Okt|Oct|Nov|De[zc])")
_JOINS = re.compile(
    r"(?:[,(–—]|\b(?:a|an|the|of|in|on|at|to|for|with|by|from|and|or|within|as|than|that|der|die|das|und|oder|von|mit|"
    r"für|im|am|zu|bei|aus|den|dem|des|eine?|bis))\Z",
    re.IGNORECASE,
)
"""The end of a line after which a sentence goes on."""
BULLET = r"(?:[-*+•◦▪‣–]|\d{1,3}[.)])"
"""The mark of an item of a list, as a pattern."""
FIELD = re.compile(r"[^:;\n]{1,80}: ")
"""The name of a field at the beginning of a line: "item: laptop"."""
_NEAR, _NARROWEST, _WIDEST = (
    400,
    40,
    160,
)  # characters: of lines that are compared; lines of wrapped text


def find_sentence_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    r"""Find the (start, end) of each sentence of a text, or of a part of it, in order, without
    white space around it.

    A sentence ends after a mark of its script with space after it, in Chinese and Japanese without
    one; not after an abbreviation, the number of a list item or of a German date, nor before a
    small letter or the end of a table's cell. A line break ends it, too, since titles and items
    often have no mark; but not in a line that was wrapped: the next line goes on with a small
    letter, or this one ends with a comma or "of", or had no room for the next word. A part without
    letters belongs to the next sentence.

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
    trimmed = (_trim(text, *span) for span in (*spans, (begin, end)))
    return list(_join_without_letters(text, [span for span in trimmed if span[0] < span[1]]))


def _ends_sentence(text: str, begin: int, mark: int, place: int, end: int) -> bool:
    """Whether the mark from `mark` to `place` ends the sentence that begins at `begin`."""
    if place >= end:
        return True
    if not text[place].isspace():
        return False
    following = text[place : min(place + 50, end)].lstrip()[:1]
    if following.islower() or following == "|":
        return False
    if (
        text[mark] != "." or not text[mark + 1 : mark + 2].isspace()
    ):  # "..." and "?" end it, and so does "(so.)"
        return True
    word = _LAST_WORD.search(text, max(begin, mark - 20), mark)
    last = word[0].lstrip("'") if word else ""
    if last.isdigit() and len(last) < 3 and following.isupper():  # "31. März", "der 2. Weltkrieg"
        german = _MONTH.match(text, place) or _GERMAN.search(text, max(begin, mark - 200), mark)
        return not german and not _is_item_number(text, begin, mark)
    return not _is_abbreviated(last, following) and not _is_item_number(text, begin, mark)


def _is_abbreviated(word: str, following: str) -> bool:
    """Whether the period after a word marks an abbreviation."""
    if len(word) == 1:
        return word.isalpha() and word != "I"  # an initial, "z. B."
    if "." in word:  # "U.S" and "Ph.D", not "example.org" and "3.2"
        short = all(len(part) < 3 and not part.isdigit() for part in word.split("."))
        return short and word.lower() not in _ENDS_IN_LETTERS
    known = word.lower()
    return known in _BEFORE_NAMES or (
        known in _BEFORE_NUMBERS and (following.isdigit() or following == "(")
    )


def _is_item_number(text: str, begin: int, mark: int) -> bool:
    """Whether all that stands before the mark is the number of an item: "3", "3.2", "iv"."""
    item = text[begin:mark].strip() if mark - begin < 40 else ""
    return 0 < len(item) <= 8 and (
        item.replace(".", "").isdigit() or not any(map(str.isalpha, item))
    )


def _ends_line(text: str, begin: int, mark: int, place: int, end: int) -> bool:
    """Whether the line break from `mark` to `place` ends a sentence, and not only a line that was
    wrapped.
    """
    if place >= end or _NEW_LINE.match(text, place, end) or not text[begin:mark].strip():
        return True
    before = text[max(0, mark - _NEAR) : mark].rpartition("\n\n")[2].splitlines()
    after = text[place : min(place + _NEAR, end)].partition("\n\n")[0].splitlines()
    line, following = before[-1], after[0].lstrip()
    if line.lstrip().startswith(("#", "|", "`" * 3)) or (
        FIELD.match(line) and FIELD.match(following)
    ):
        return True
    goes_on = following[:1].islower() and not text[begin:mark].lstrip()[0].islower()
    if goes_on or following[:1] == "(" or _JOINS.search(line.rstrip()):
        return False
    width = max(map(len, (*before, *after)))
    return not (
        _NARROWEST <= width <= _WIDEST and len(line) + 1 + len(following.split()[0]) > width
    )


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), max(start, end - len(part) + len(part.rstrip()))


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

    Numbers in square brackets are removed: in a prompt they would look like citations of its
    passages.
    """
    plain = remove_citations(text)
    return tuple(" ".join(plain[start:end].split()) for start, end in find_sentence_spans(plain))


_ROUGH_END = re.compile(r"(?<=[.!?])\s+|\n+")


def split_roughly(text: str) -> list[str]:
    """Split a text after end marks and at line breaks, abbreviations or not: fast.

    It is enough to recognise repeated sentences, or the beginning of a reply.
    """
    return _ROUGH_END.split(text)


def remove_citations(text: str) -> str:
    """Remove numbers in square brackets from a text.

    Example:
        >>> remove_citations("Dogs bark [1], cats do not [2, 3].")
        'Dogs bark, cats do not.'
    """
    return _CITATION.sub("", text)


_ASIDE = re.compile(r"\s*\([^()]*\)")
_MARK = re.compile(r"[,;](?=\s)|\s+[-–—]+(?=\s)")
_SUBORDINATE = re.compile(
    r"\s*(?:which|who|whose|whom|where|when|while|whereas|although|though|because|since|so that|such that|even "
    r"(?:if|though)|unless|in which|of which)\b",
    re.IGNORECASE,
)
_ADVERSATIVE = re.compile(r"\s*(?:but|so|yet)\b", re.IGNORECASE)
_COORDINATE = re.compile(
    r"\s*(?:and|or|nor)\b", re.IGNORECASE
)  # may also stand before the last item of a list
_RELATIVE = re.compile(r"\b(?:who|which|that|whose|where)\b", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"\W*(?:after|although|as|at|because|before|by|despite|during|even|for|from|if|in|like|of|on|once|since|though|to|"
    r"under|unless|unlike|until|when|where|whereas|whether|while|with|within|without)\b",
    re.IGNORECASE,
)
FINITE_VERB = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|does|do|did|can|cannot|could|will|would|shall|should|may|might|must|became|"
    r"becomes|began|came|gave|gives|makes|made|means|said|says|took|went|won|wrote)\b|\w(?:n't|n’t)\b",
    re.IGNORECASE,
)
"""A verb by which an English clause is one."""
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("``", "''"))


def shorten_by_clauses(sentence: str, words: int) -> str:
    """Return a sentence of at most `words` words: the sentence, or what is left without its asides
    and last clauses.

    "The museum (in Rome) is old, although it was rebuilt." becomes "The museum is old." A comma
    counts as the end of a clause only where a clause with a verb goes before and a clause goes
    after: a comma in a list never does, nor one after an introduction, nor one before a clause in
    the middle of another. Where in doubt, nothing is cut.

    Returns:
        The text on one line; empty if the sentence is too long, and cannot be shortened by whole
        clauses.
    """
    text = " ".join(sentence.split())
    if len(text.split()) <= words:
        return text
    text = _ASIDE.sub("", text)
    if len(text.split()) <= words:
        return text
    fitting = [text[:end] for end in _find_clause_ends(text) if len(text[:end].split()) <= words]
    return f"{fitting[-1].rstrip()}." if fitting else ""


def truncate_text(text: str, tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return the longest beginning of a text, in whole words, that has so many tokens; all of it
    where it fits.
    """
    if count_tokens(text) <= tokens:
        return text
    ends = [0, *(word.end() for word in re.finditer(r"\S+", text))]
    return text[: ends[bisect_right(ends, tokens, 1, key=lambda end: count_tokens(text[:end])) - 1]]


def _find_clause_ends(text: str) -> Iterator[int]:
    """Yield the offsets at which a main clause is complete and another clause begins, in order."""
    marks = [mark.span() for mark in _MARK.finditer(text)]
    introduced = _INTRODUCTION.match(text) is not None
    listed = False  # whether a comma that ends no clause stands before, as in a list
    for index, (start, end) in enumerate(marks):
        following = text[end : marks[index + 1][0] if index + 1 < len(marks) else len(text)]
        main = text[marks[0][1] :] if introduced else text
        before = main[: start - (len(text) - len(main))] if index or not introduced else ""
        if (
            _ends_clause(text[start], following, listed)
            and _is_clause(before)
            and _is_closed(text[:start])
        ):
            yield start
        elif index or not introduced:
            listed = True


def _ends_clause(mark: str, following: str, listed: bool) -> bool:
    """Whether a clause begins after a mark: by its first word, or by a verb of its own after "and"
    or a semicolon.
    """
    if mark != ";" and _SUBORDINATE.match(following):
        return True
    joined = _ADVERSATIVE.match(following) or (not listed and _COORDINATE.match(following))
    return bool(mark == ";" or joined) and FINITE_VERB.search(following) is not None


def _is_clause(text: str) -> bool:
    """Whether a text has a finite verb of its own: one more than its relative clauses need."""
    return len(FINITE_VERB.findall(text)) > len(_RELATIVE.findall(text))


def _is_closed(text: str) -> bool:
    """Whether every bracket and quotation mark that is opened is closed, and no colon has announced
    a list.
    """
    return (
        all(text.count(a) == text.count(b) for a, b in _PAIRS)
        and text.count('"') % 2 == 0
        and ": " not in text
    )
