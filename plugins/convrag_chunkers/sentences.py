"""chunker=sentences, chunker=pages and chunker=none: passages of whole sentences, of pages, or of documents.

A text of any script is split into sentences in a time that grows with its length, whatever it holds.
`convrag.sdk.sentences` reads English more exactly, and takes too long for documents of many megabytes.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from annotated_types import Ge

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag_chunkers.tokens import choose_part, count_tokens, cut_lines, trim_span

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


class SentenceChunker(Chunker):
    """Fill each passage with whole sentences, wherever headings and pages begin.

    A sentence that is longer than a passage is cut between lines, then words; text without spaces between characters.

    Args:
        tokens: the most that a passage has. A token is up to six letters or digits of ASCII, three letters of another
            alphabet, one character of Chinese, Japanese or Korean, or another sign.
        overlap: a passage begins with the last sentences of the one before, as far as they have so many tokens
            together; at most half of `tokens`, and unless given an eighth.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: Annotated[int, Ge(1)] = 200, overlap: int | None = None) -> None:
        self.tokens = tokens
        self.overlap = choose_part("overlap", overlap, 8, tokens)

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The passages in their order; all of the text is in them."""
        text = document.text
        return list(cut_passages(document, fill_passages(text, 0, len(text), self.tokens, self.overlap)))


class _Sentence(NamedTuple):
    """A sentence, or a part of one that is too long; with its tokens."""

    start: int
    end: int
    tokens: int


def fill_passages(text: str, start: int, end: int, tokens: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
    """Yield spans of whole sentences, each of at most so many tokens.

    Args:
        text: the text.
        start: the first character to read.
        end: the character after the last one.
        tokens: the most that a span has.
        overlap: how many tokens of whole sentences at its end the next span may begin with.
    """
    held: deque[_Sentence] = deque()
    total = 0
    for sentence in _list_sentences(text, start, end, tokens):
        if held and total + sentence.tokens > tokens:
            yield held[0].start, held[-1].end
            room = min(overlap, tokens - sentence.tokens)
            while held and total > room:
                total -= held.popleft().tokens
        held.append(sentence)
        total += sentence.tokens
    if held:
        yield held[0].start, held[-1].end


def _list_sentences(text: str, start: int, end: int, tokens: int) -> Iterator[_Sentence]:
    """Yield the sentences of a span; parts of those that are too long."""
    for first, last in find_sentences(text, start, end):
        count = count_tokens(text, first, last)
        if count <= tokens:
            yield _Sentence(first, last, count)
        else:
            for part in cut_lines(text, first, last, tokens):
                yield _Sentence(*part, count_tokens(text, *part))


class PageChunker(Chunker):
    """Make a passage of each page or slide, so that a citation is a page; a blank one is left out.

    A document that has no pages, such as Markdown, counts as one page.

    Args:
        tokens: a page that has more is cut into passages of whole sentences, each of at most so many; null keeps every
            page whole, though most models for embeddings read no more than 256 tokens of it. A token is up to six
            letters or digits of ASCII, three letters of another alphabet, one character of Chinese, Japanese or Korean,
            or another sign.
    """

    def __init__(self, *, tokens: Annotated[int | None, Ge(1)] = None) -> None:
        self.tokens = tokens

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The pages in their order; all of the text is in them."""
        return list(cut_passages(document, self._find_spans(document)))

    def _find_spans(self, document: Document) -> Iterator[tuple[int, int]]:
        text = document.text
        starts = sorted({0, *(page for page in document.pages if 0 < page < len(text))})
        for first, last in zip(starts, [*starts[1:], len(text)], strict=True):
            start, end = trim_span(text, first, last)
            if self.tokens is not None and count_tokens(text, start, end) > self.tokens:
                yield from fill_passages(text, start, end, self.tokens)
            elif start < end:
                yield start, end


class NoChunker(Chunker):
    """Keep each document whole, as one passage: for short ones, such as questions with their answers."""

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The document's text without white space around it; nothing where it is blank."""
        start, end = trim_span(document.text, 0, len(document.text))
        return list(cut_passages(document, [(start, end)] if start < end else []))
