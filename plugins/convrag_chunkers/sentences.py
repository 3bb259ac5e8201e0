"""chunker=sentences, pages and none: passages of whole sentences, of pages, or of documents."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from annotated_types import Ge

from convrag import Chunker, Document, Passage
from convrag.sdk.data.document_passages import cut_passages
from convrag.sdk.text.sentences import find_sentence_spans
from convrag_chunkers.table_rows import find_row_end
from convrag_chunkers.tokens import choose_part, count_tokens, cut_lines, trim_span


class SentenceChunker(Chunker):
    """Fill each passage with whole sentences, wherever headings and pages begin.

    A row of a table counts as a sentence. A sentence that is longer than a passage is cut between
    lines, then words; a row between its fields; text without spaces between characters.

    Args:
        tokens: the most that a passage has. A token is up to six letters or digits of ASCII, three
            letters of another alphabet, one character of Chinese, Japanese or Korean, or another
            sign.
        overlap: a passage begins with the last sentences of the one before, as far as they have so
            many tokens together; at most half of `tokens`, and unless given an eighth.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: Annotated[int, Ge(1)] = 200, overlap: int | None = None) -> None:
        self.tokens = tokens
        self.overlap = choose_part("overlap", overlap, 8, tokens)

    def chunk(self, document: Document) -> Sequence[Passage]:
        """Return the passages in their order; they contain all of the text."""
        text = document.text
        spans = fill_passages(text, 0, len(text), self.tokens, self.overlap)
        return list(cut_passages(document, spans))


class _Sentence(NamedTuple):
    """A sentence, or a part of one that is too long, with the number of its tokens."""

    start: int
    end: int
    tokens: int


def fill_passages(
    text: str, start: int, end: int, tokens: int, overlap: int = 0
) -> Iterator[tuple[int, int]]:
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
    for first, last in _list_units(text, start, end):
        count = count_tokens(text, first, last)
        if count <= tokens:
            yield _Sentence(first, last, count)
        else:
            for part in cut_lines(text, first, last, tokens):
                yield _Sentence(*part, count_tokens(text, *part))


def _list_units(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a span; a row of a table counts as one, whatever is in its cells."""
    row_end = start
    for sentence_start, last in find_sentence_spans(text, start, end):
        first = max(sentence_start, row_end)
        while first < last:
            found = find_row_end(text, first, end)
            if found is None:
                yield first, last
                break
            yield trim_span(text, first, found)
            row_end = found
            first, last = trim_span(text, row_end, max(row_end, last))


class PageChunker(Chunker):
    """Make a passage of each page or slide, so that a citation is a page; a blank one is left out.

    A document that has no pages, such as Markdown, counts as one page.

    Args:
        tokens: a page that has more is cut into passages of whole sentences, each of at most so
            many; null keeps every page whole, though most models for embeddings read no more than
            256 tokens of it. A token is up to six letters or digits of ASCII, three letters of
            another alphabet, one character of Chinese, Japanese or Korean, or another sign.
    """

    def __init__(self, *, tokens: Annotated[int | None, Ge(1)] = None) -> None:
        self.tokens = tokens

    def chunk(self, document: Document) -> Sequence[Passage]:
        """Return the pages in their order; they contain all of the text."""
        return list(cut_passages(document, self._find_spans(document)))

    def _find_spans(self, document: Document) -> Iterator[tuple[int, int]]:
        text = document.text
        pages = [start for start in document.pages if 0 < start < len(text)]
        starts = sorted({0, *pages})
        for first, last in zip(starts, [*starts[1:], len(text)], strict=True):
            start, end = trim_span(text, first, last)
            if self.tokens is not None and count_tokens(text, start, end) > self.tokens:
                yield from fill_passages(text, start, end, self.tokens)
            elif start < end:
                yield start, end


class NoChunker(Chunker):
    """Keep each document whole, as one passage: for short documents, such as FAQs."""

    def chunk(self, document: Document) -> Sequence[Passage]:
        """Return the document's text without white space around it; nothing for a blank one."""
        start, end = trim_span(document.text, 0, len(document.text))
        return list(cut_passages(document, [(start, end)] if start < end else []))
