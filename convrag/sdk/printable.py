"""Text for terminals and logs: without control characters, and numbers with their nouns."""

from convrag.api.printable import make_printable

__all__ = ["count", "make_printable"]


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 turn", "2 turns"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
