"""chunker=none: each document is one passage."""

from __future__ import annotations

from collections.abc import Sequence

from convrag import Chunker, Document, Passage
from convrag.sdk.document_passages import cut_passages


class NoChunker(Chunker):
    """Keep each document whole, as one passage: for short ones, such as questions with their answers."""

    def chunk(self, document: Document) -> Sequence[Passage]:
        """The document's text as it stands; nothing where it is blank."""
        return list(cut_passages(document, [(0, len(document.text))] if document.text.strip() else []))
