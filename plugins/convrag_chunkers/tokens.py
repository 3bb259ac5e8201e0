"""chunker=tokens: windows of a fixed length; and the measure of length that all chunkers use.

A token is up to six letters or digits of ASCII, up to three of other alphabets, one character of
Chinese, Japanese or Korean, or one other sign: "Employees may carry over days." has 7. It is an
estimate of what embedders and language models count, which needs no tokenizer: English prose has
1.0 to 1.1 of these tokens for one of BERT's word pieces.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated

from annotated_types import Ge

from convrag import Chunker, ConfigError, Document, Passage
from convrag.sdk.data.document_passages import cut_passages
from convrag_chunkers.table_rows import find_row_end, list_fields

CJK = "\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
"""Characters of scripts in which each is counted, as ranges for a pattern."""

_ESTIMATED_TOKEN = re.compile(rf"[A-Za-z0-9]{{1,6}}|[^\W_A-Za-z0-9{CJK}]{{1,3}}|\S")
_LINE = re.compile(r"[^\n]+")
_JOINER = "\u200d"
_CLAUSE_ENDS = frozenset("、，；：,;:")


def choose_part(name: str, given: int | None, share: int, tokens: int) -> int:
    """Return a number of tokens that is at most half of a passage.

    Args:
        name: of the parameter.
        given: its value; None for the tokens of a passage divided by `share`.
        share: the number of parts of a passage.
        tokens: the most that a passage has.

    Raises:
        ConfigError: it is more than half, or negative.
    """
    if given is None:
        return tokens // share
    if not 0 <= 2 * given <= tokens:
        raise ConfigError(f"chunker.{name}={given}: from 0 to half of chunker.tokens={tokens}")
    return given


def count_tokens(text: str, start: int, end: int) -> int:
    """Count the tokens of a span."""
    return len(_ESTIMATED_TOKEN.findall(text, start, end))


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out the white space around a span."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def cut_lines(text: str, start: int, end: int, tokens: int) -> Iterator[tuple[int, int]]:
    """Yield the lines of a span that are not blank; a longer line is cut between words.

    A longer row of a table is cut between its fields, so that each value stays next to the name of
    its column.
    """
    for line in _LINE.finditer(text, start, end):
        first, last = trim_span(text, *line.span())
        if first == last:
            continue
        if find_row_end(text, first, last) is None:
            yield from cut_windows(text, first, last, tokens)
        else:
            yield from _cut_row(text, first, last, tokens)


def _cut_row(text: str, start: int, end: int, tokens: int) -> Iterator[tuple[int, int]]:
    """Cut a row of a table between its fields; a longer field is cut between words."""
    first = start
    last = start
    total = 0
    for field_start, field_end in list_fields(text, start, end):
        count = count_tokens(text, field_start, field_end)
        if total and total + count > tokens:
            yield from cut_windows(text, first, last, tokens)
            first = field_start
            total = 0
        last = field_end
        total += count
    yield from cut_windows(text, first, last, tokens)


def cut_windows(
    text: str, start: int, end: int, tokens: int, overlap: int = 0
) -> Iterator[tuple[int, int]]:
    """Cut a span into spans of at most so many tokens: at white space, or else between characters.

    Args:
        text: the text.
        start: the first character to cut.
        end: the character after the last one.
        tokens: the most that a span has.
        overlap: how many tokens of its end the next span begins with, rounded to whole words; at
            most half of them.
    """
    start, end = trim_span(text, start, end)
    done = start
    while start < end:
        matches = islice(_ESTIMATED_TOKEN.finditer(text, start, end), tokens + 1)
        starts = [match.start() for match in matches]
        if len(starts) <= tokens:
            yield start, end
            return
        cut = _find_cut(text, start, starts.pop())
        # All of it was in the last span: an accented letter has more tokens than the overlap leaves
        if cut <= done:
            start, end = trim_span(text, done, end)
            continue
        yield trim_span(text, start, cut)
        done = cut
        while starts[-1] >= cut:
            starts.pop()
        back = min(overlap, len(starts) // 2)
        start = _find_word(text, starts[-back], cut) if back else cut
        start, end = trim_span(text, start, end)


def _find_cut(text: str, start: int, latest: int) -> int:
    """Find the last place between words in the second half of a span.

    Where there is none, find one between clauses, or else between characters.
    """
    places = range(latest, start + (latest - start) // 2, -1)
    tests = (_is_between_words, _is_between_clauses, _is_between_characters)
    return _find_place(text, places, tests, latest)


def _find_word(text: str, earliest: int, cut: int) -> int:
    """Find the first word, else character, that begins at `earliest` or later, before the cut."""
    tests = (_is_between_words, _is_between_characters)
    return _find_place(text, range(earliest, cut), tests, cut)


def _find_place(
    text: str, places: range, tests: Iterable[Callable[[str, int], bool]], default: int
) -> int:
    """Find the first of the places that passes the first test that any of them passes."""
    for test in tests:
        for place in places:
            if test(text, place):
                return place
    return default


def _is_between_words(text: str, place: int) -> bool:
    return text[place].isspace() or text[place - 1].isspace()


def _is_between_clauses(text: str, place: int) -> bool:
    return text[place - 1] in _CLAUSE_ENDS


def _is_between_characters(text: str, place: int) -> bool:
    """Whether no visible character is cut there: an accent, or an emoji of several code points."""
    before = text[place - 1]
    after = text[place]
    if _JOINER in (before, after):
        return False
    if after.isascii():
        return True
    is_part_of_korean_syllable = "\u1160" <= after <= "\u11ff"
    is_accent = unicodedata.category(after).startswith("M")
    is_skin_tone = "\U0001f3fb" <= after <= "\U0001f3ff"
    is_tag_or_variant = after >= "\U000e0000"
    return not (is_part_of_korean_syllable or is_accent or is_skin_tone or is_tag_or_variant)


class TokenChunker(Chunker):
    """Cut windows of a fixed number of tokens, between two words: the baseline of many papers.

    Text without spaces is cut between characters.

    Args:
        tokens: the most that a passage has. A token is up to six letters or digits of ASCII, three
            letters of another alphabet, one character of Chinese, Japanese or Korean, or another
            sign.
        overlap: how many tokens of its end the next passage begins with, rounded to whole words; at
            most half of `tokens`, and unless given an eighth.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: Annotated[int, Ge(1)] = 200, overlap: int | None = None) -> None:
        self.tokens = tokens
        self.overlap = choose_part("overlap", overlap, 8, tokens)

    def chunk(self, document: Document) -> Sequence[Passage]:
        """Return the windows in their order; they contain all of the text."""
        windows = cut_windows(document.text, 0, len(document.text), self.tokens, self.overlap)
        return list(cut_passages(document, windows))
