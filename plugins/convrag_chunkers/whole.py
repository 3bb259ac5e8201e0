"""chunker=none: each document is one passage."""

from __future__ import annotations

from collections.abc import Sequence

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages
from convrag_chunkers.token_spans import trim_span


class NoChunker(Chunker):
    """Keep each document whole, as one passage: for short ones, such as questions with their answers."""

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The document's text without white space around it; nothing where it is blank."""
        start, end = trim_span(document.text, 0, len(document.text))
        return list(cut_passages(document, [(start, end)] if start < end else []))
