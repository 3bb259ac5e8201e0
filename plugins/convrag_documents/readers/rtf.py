"""RTF, the Rich Text Format."""

from collections.abc import Iterator

from convrag import Document
from convrag_documents.unreadable import Unreadable


def read_rtf(content: bytes) -> Iterator[Document]:
    """Read a file with one line for each paragraph."""
    from striprtf.striprtf import rtf_to_text

    if not content.startswith(b"{\\rtf"):
        raise Unreadable("this is no RTF")
    yield Document("", rtf_to_text(content.decode("latin-1"), errors="replace"))
