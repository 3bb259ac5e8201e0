"""chunker=sentences: whole sentences up to so many tokens."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag_chunkers.sentence_spans import find_sentences
from convrag_chunkers.token_spans import choose_part, count_tokens, cut_lines


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

    def __init__(self, *, tokens: int = 200, overlap: int | None = None) -> None:
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
