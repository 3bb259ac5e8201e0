"""chunker=pages: a passage for each page or slide; and chunker=none: one for each document."""

from collections.abc import Iterator, Sequence

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag_chunkers.sentence_chunker import fill_passages
from convrag_chunkers.token_spans import check_tokens, count_tokens, trim_span


class PageChunker(Chunker):
    """Make a passage of each page or slide, so that a citation is a page; a blank one is left out.

    A document that has no pages, such as Markdown, counts as one page.

    Args:
        tokens: a page that has more is cut into passages of whole sentences, each of at most so many; null keeps every
            page whole, though most models for embeddings read no more than 256 tokens of it. A token is up to six
            letters or digits of ASCII, three letters of another alphabet, one character of Chinese, Japanese or Korean,
            or another sign.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: int | None = None) -> None:
        if tokens is not None:
            check_tokens(tokens)
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
