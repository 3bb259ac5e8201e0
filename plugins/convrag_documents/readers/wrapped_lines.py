"""Lines that were broken within a sentence, as in plain text, mails and PDFs."""

from itertools import pairwise

_SHORTEST_WRAPPED = 40
"""Characters from which a line may have been broken because it was full."""

_CLOSING_MARKS = (".", "!", "?", ":", ";", "…", "|")


def join_wrapped_lines(text: str, *, full: int | None = None) -> str:
    """Replace line breaks within sentences by spaces, so that every character keeps its place.

    A sentence continues after a line without a period, before a small letter.

    Args:
        text: the text.
        full: the length of a line that also continues before a capital, if it ends with a small
            letter; None where lines may be entries of a list or a log.
    """
    lines = text.split("\n")
    joined = [lines[0]]
    for last, line in pairwise(lines):
        continues = _continues_before_small_letter(last, line)
        if full is not None and len(last) >= full:
            continues = continues or _continues_before_capital(last, line)
        joined.append(" " if continues else "\n")
        joined.append(line)
    return "".join(joined)


def _continues_before_small_letter(line: str, following: str) -> bool:
    if len(line) < _SHORTEST_WRAPPED or line.endswith(_CLOSING_MARKS):
        return False
    return following[:1].islower()


def _continues_before_capital(line: str, following: str) -> bool:
    may_go_on = line[-1:].islower() or line.endswith(",")
    return may_go_on and (following[:1].isupper() or following.startswith("("))
