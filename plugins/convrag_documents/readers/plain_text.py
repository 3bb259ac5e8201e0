"""Plain text, and source code."""

from collections.abc import Iterator

from convrag import Document
from convrag.sdk.text.encodings import decode
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.wrapped_lines import join_wrapped_lines

_LONGEST_LINE = 5000
"""Characters of a line of source code, YAML and the like."""


def read_text(content: bytes) -> Iterator[Document]:
    """Read plain text. A line that was broken within a sentence continues in the next one."""
    yield Document("", join_wrapped_lines(decode(content)))


def read_code(content: bytes) -> Iterator[Document]:
    """Read source code, YAML and the like, with every line as it is.

    Raises:
        Unreadable: it was generated or minified.
    """
    text = decode(content)
    longest = max(len(line) for line in text.split("\n"))
    if longest > _LONGEST_LINE:
        raise Unreadable(f"it is minified or generated: a line has {longest:,} characters")
    yield Document("", text)
