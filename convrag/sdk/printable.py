"""Text for terminals and logs: without control characters; numbers with their nouns, and durations."""

from convrag.api.printable import make_printable

__all__ = ["count", "format_duration", "make_printable"]


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 turn", "2 turns"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_duration(seconds: float) -> str:
    """Seconds in the unit that reads best: "0.4 s", "12 s", "3 min", "2.5 h"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"
