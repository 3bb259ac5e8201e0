"""Splits English text into sentences with pysbd, as spans or as texts, and shortens a sentence by whole clauses.

pysbd's time grows with the square of a line's length, so it reads at most 3,000 characters at once: of a longer line it
gets the parts between ends that are certain. A text of more than 50,000 characters, such as a whole book, is split at
certain ends alone. So the time grows with the length, whatever the text.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

LIBRARIES = ("pysbd",)
"""Their versions are part of the fingerprints of stages that use this module."""

_READ_AT_ONCE = 3_000
"""Characters of a line that pysbd reads at once."""

READ_IN_FULL = 50_000
"""Characters of a text above which pysbd is not asked."""

# The lookbehind keeps the search from starting again at each space of a long row of spaces.
_CITATION = re.compile(r"(?<![^\S\n])[^\S\n]*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]")
CERTAIN_GAP = re.compile(r"(?<=[a-z]{4}[.!?])\s+(?=[A-Z\[])")
"""The space between two sentences: after a word too long for an abbreviation, before a capital or a citation."""

_NUMBERED_REFERENCE = (
    r"(?<=[^\d\s])(\.|∯)((\[((?:\d++(?:,\s?-?\s?|\s-?\s?|-\s?))*+)\d{1,3}\])++|((\d{1,3}\s?)?\d{1,3}))(\s)(?=[A-Z])"
)
"""A period, a reference in brackets, and the space before the next sentence.

It finds what pysbd's own pattern finds, in the same groups, of which pysbd uses the second and the seventh.
"""

_LINE = re.compile(r"[^\r\n]+")
_SEPARATORS = re.compile(r"[\x1c-\x1f]+")  # white space to a pattern, but not to int(), which pysbd gives it to
_SPACED_END = re.compile(r"(?<=\s[.!?])\s+(?=\S)")  # tokenised text: the mark is a token of its own
_CLOSING = re.compile(r"(?:''|[”’])\s+(?=\S)")


def find_sentence_spans(text: str) -> list[tuple[int, int]]:
    """Find the (start, end) of each sentence in order, without white space around it.

    A line break ends a sentence. So does a punctuation mark with space on both sides, as in tokenised text, even within
    quotes. A part without letters, such as the number of a list item, belongs to the next sentence.
    """
    spans: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        if line[0].strip():
            parts = segment_line(line[0], fast=len(text) > READ_IN_FULL)
            located = _locate_parts(text, line.start(), line.end(), parts)
            divided = (part for span in located for part in _split_at_spaced_marks(text, *span))
            spans += _join_without_letters(text, _move_closing_quotes(text, divided))
    return spans


def get_first_sentence(text: str) -> str:
    """Return the first sentence of a text; empty if it has none.

    Example:
        >>> get_first_sentence("Set it to 80 degrees. Wait two minutes.")
        'Set it to 80 degrees.'
    """
    return next((text[start:end] for start, end in find_sentence_spans(text)), "")


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[str, ...]:
    """Split a text into its sentences, each without line breaks.

    Numbers in square brackets are removed: in a prompt they would look like citations of its passages. A line break
    ends a sentence, since titles and list items often have no punctuation mark at their end.
    """
    fast = len(text) > READ_IN_FULL
    lines = (" ".join(line.split()) for line in remove_citations(text).splitlines())
    parts = (part.strip() for line in lines if line for part in segment_line(line, fast=fast))
    return tuple(part for part in parts if part)


def segment_line(line: str, *, fast: bool = False) -> list[str]:
    """Split a line into its sentences, with the white space after them.

    Args:
        line: a text without line breaks.
        fast: whether to split at certain ends alone, without pysbd.
    """
    if fast:
        return CERTAIN_GAP.split(line)
    lines = filter(None, _SEPARATORS.split(line))
    blocks = (block for each in lines for block in _cut_at_certain_ends(each))
    return [part for block in blocks for part in (_segment_block(block) if len(block) <= _READ_AT_ONCE else [block])]


@lru_cache(maxsize=8192)
def _segment_block(block: str) -> tuple[str, ...]:
    """Split a block with pysbd, which takes a millisecond; the cells of a grid read the same passages."""
    from pysbd import Segmenter

    segmenter = Segmenter(language="en", clean=False)  # it stores the text, so threads must not share it
    segmenter.language_module = _get_english()
    return tuple(str(part) for part in segmenter.segment(block))


@cache
def _get_english() -> type:
    """Return pysbd's rules for English, with one pattern written anew.

    pysbd's own pattern for references ("...was shown.[12, 13] The ...") finds 2 ways to read each number of two digits,
    and 4 for three: where the text is none in the end, it tries all of them, for ages.
    """
    from pysbd.lang.english import English

    return type("English", (English,), {"NUMBERED_REFERENCE_REGEX": _NUMBERED_REFERENCE})


def remove_citations(text: str) -> str:
    """Remove numbers in square brackets from a text.

    Example:
        >>> remove_citations("Dogs bark [1], cats do not [2, 3].")
        'Dogs bark, cats do not.'
    """
    return _CITATION.sub("", text)


def _cut_at_certain_ends(line: str) -> Iterator[str]:
    """Cut a line into blocks of at most _READ_AT_ONCE characters; a block is longer only where no end is certain."""
    if len(line) <= _READ_AT_ONCE:
        yield line
        return
    start = last = 0
    for gap in CERTAIN_GAP.finditer(line):
        if gap.end() - start > _READ_AT_ONCE and last > start:
            yield line[start:last]
            start = last
        last = gap.end()
    if len(line) - start > _READ_AT_ONCE and last > start:
        yield line[start:last]
        start = last
    yield line[start:]


def _locate_parts(text: str, start: int, end: int, parts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a line's parts. If the segmenter has changed a part, the rest of the line is one sentence."""
    position = start
    for part in parts:
        found = text.find(part.strip(), position, end)
        if found < 0:
            break
        if part.strip():
            yield found, found + len(part.strip())
            position = found + len(part.strip())
    if rest := text[position:end].strip():
        found = text.index(rest, position)
        yield found, found + len(rest)


def _split_at_spaced_marks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a span after each punctuation mark that has space on both sides."""
    for gap in _SPACED_END.finditer(text, start, end):
        yield start, gap.start()
        start = gap.end()
    yield start, end


def _move_closing_quotes(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Move a closing quotation mark at the beginning of a sentence to the end of the sentence before."""
    moved: list[tuple[int, int]] = []
    for start, end in spans:
        if moved and (quote := _CLOSING.match(text, start, end)):
            moved[-1] = moved[-1][0], start + len(quote[0].rstrip())
            start = quote.end()
        moved.append((start, end))
    return moved


def _join_without_letters(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join each span without letters to the next span."""
    first: int | None = None
    for start, end in spans:
        if any(character.isalpha() for character in text[start:end]):
            yield start if first is None else first, end
            first = None
        elif first is None:
            first = start
    if first is not None:
        yield first, spans[-1][1]


_ASIDE = re.compile(r"\s*\([^()]*\)")
_MARK = re.compile(r"[,;](?=\s)|\s+[-–—]+(?=\s)")
_SUBORDINATE = re.compile(
    r"\s*(?:which|who|whose|whom|where|when|while|whereas|although|though|because|since|so that|such that|even "
    r"(?:if|though)|unless|in which|of which)\b",
    re.IGNORECASE,
)
_ADVERSATIVE = re.compile(r"\s*(?:but|so|yet)\b", re.IGNORECASE)
_COORDINATE = re.compile(r"\s*(?:and|or|nor)\b", re.IGNORECASE)  # may also stand before the last item of a list
_RELATIVE = re.compile(r"\b(?:who|which|that|whose|where)\b", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"\W*(?:after|although|as|at|because|before|by|despite|during|even|for|from|if|in|like|of|on|once|since|though|to|"
    r"under|unless|unlike|until|when|where|whereas|whether|while|with|within|without)\b",
    re.IGNORECASE,
)
_FINITE_VERB = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|does|do|did|can|cannot|could|will|would|shall|should|may|might|must|became|"
    r"becomes|began|came|gave|gives|makes|made|means|said|says|took|went|won|wrote)\b|\w(?:n't|n’t)\b",
    re.IGNORECASE,
)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("``", "''"))


def shorten_by_clauses(sentence: str, words: int) -> str:
    """Return a sentence of at most `words` words: the sentence, or what is left without its asides and last clauses.

    "The museum (in Rome) is old, although it was rebuilt." becomes "The museum is old." A comma counts as the end of a
    clause only where a clause with a verb goes before and a clause goes after: a comma in a list never does, nor one
    after an introduction, nor one before a clause in the middle of another. Where in doubt, nothing is cut.

    Returns:
        The text on one line; empty if the sentence is too long, and cannot be shortened by whole clauses.
    """
    text = " ".join(sentence.split())
    if len(text.split()) <= words:
        return text
    text = _ASIDE.sub("", text)
    if len(text.split()) <= words:
        return text
    fitting = [text[:end] for end in _find_clause_ends(text) if len(text[:end].split()) <= words]
    return f"{fitting[-1].rstrip()}." if fitting else ""


def _find_clause_ends(text: str) -> Iterator[int]:
    """Yield the offsets at which a main clause is complete and another clause begins, in order."""
    marks = [mark.span() for mark in _MARK.finditer(text)]
    introduced = _INTRODUCTION.match(text) is not None
    listed = False  # whether a comma that ends no clause stands before, as in a list
    for index, (start, end) in enumerate(marks):
        following = text[end : marks[index + 1][0] if index + 1 < len(marks) else len(text)]
        main = text[marks[0][1] :] if introduced else text
        before = main[: start - (len(text) - len(main))] if index or not introduced else ""
        if _ends_clause(text[start], following, listed) and _is_clause(before) and _is_closed(text[:start]):
            yield start
        elif index or not introduced:
            listed = True


def _ends_clause(mark: str, following: str, listed: bool) -> bool:
    """Whether a clause begins after a mark: by its first word, or by a verb of its own after "and" or a semicolon."""
    if mark != ";" and _SUBORDINATE.match(following):
        return True
    joined = _ADVERSATIVE.match(following) or (not listed and _COORDINATE.match(following))
    return bool(mark == ";" or joined) and _FINITE_VERB.search(following) is not None


def _is_clause(text: str) -> bool:
    """Whether a text has a finite verb of its own: one more than its relative clauses need."""
    return len(_FINITE_VERB.findall(text)) > len(_RELATIVE.findall(text))


def _is_closed(text: str) -> bool:
    """Whether every bracket and quotation mark that is opened is closed, and no colon has announced a list."""
    return all(text.count(a) == text.count(b) for a, b in _PAIRS) and text.count('"') % 2 == 0 and ": " not in text
