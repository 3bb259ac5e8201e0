"""Long texts, which are worked on part by part, so that other threads may go on in between."""

from collections.abc import Iterator

LONG = 65_536
"""The characters of a text that are worked on at a time."""


def cut_text(text: str) -> Iterator[str]:
    """Cut a text into parts of at most `LONG` characters."""
    for start in range(0, len(text), LONG):
        yield text[start : start + LONG]
