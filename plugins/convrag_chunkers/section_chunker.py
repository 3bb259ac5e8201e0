"""chunker=markdown: the sections of a document, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag_chunkers.fill_blocks import fill_blocks
from convrag_chunkers.limits import choose_part
from convrag_chunkers.sections import join_sections, list_sections


class SectionChunker(Chunker):
    """Make a passage of each section, with the path of its headings as title.

    It goes by the document's headings, which HTML, DOCX, PDF and others have as well as Markdown. A heading without
    text of its own belongs to its first subsection, and short sections that follow each other under one heading are
    joined. A longer section is cut between paragraphs, lists, tables and blocks of code, which stay whole if they fit;
    then between sentences, lines of code or rows; then between lines and words.

    Args:
        tokens: the most that a passage has. A token is up to six letters or digits of ASCII, three letters of another
            alphabet, one character of Chinese, Japanese or Korean, or another sign.
        smallest: a section with fewer tokens is joined to neighbours that have fewer, too, until they have so many; 0
            joins none. At most half of `tokens`, and unless given a fifth.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: int = 200, smallest: int | None = None) -> None:
        self.tokens = tokens
        self.smallest = choose_part("smallest", smallest, 5, tokens)

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The passages in their order; all of the text is in them."""
        return list(cut_passages(document, self._find_spans(document)))

    def _find_spans(self, document: Document) -> Iterator[tuple[int, int]]:
        for section in join_sections(list_sections(document), self.smallest):
            if section.tokens <= self.tokens:
                yield section.start, section.end
            else:
                yield from fill_blocks(document.text, section.start, section.end, self.tokens, self.smallest)
