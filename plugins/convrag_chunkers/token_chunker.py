"""chunker=tokens: windows of a fixed length."""

from collections.abc import Sequence

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag_chunkers.token_spans import choose_part, cut_windows


class TokenChunker(Chunker):
    """Cut at every so many tokens, between two words: the baseline that papers compare with.

    Text without spaces is cut between characters.

    Args:
        tokens: the most that a passage has. A token is up to six letters or digits of ASCII, three letters of another
            alphabet, one character of Chinese, Japanese or Korean, or another sign.
        overlap: how many tokens of its end the next passage begins with, rounded to whole words; at most half of
            `tokens`, and unless given an eighth.

    Raises:
        ConfigError: a number is out of range.
    """

    def __init__(self, *, tokens: int = 200, overlap: int | None = None) -> None:
        self.tokens = tokens
        self.overlap = choose_part("overlap", overlap, 8, tokens)

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The windows in their order; all of the text is in them."""
        windows = cut_windows(document.text, 0, len(document.text), self.tokens, self.overlap)
        return list(cut_passages(document, windows))
