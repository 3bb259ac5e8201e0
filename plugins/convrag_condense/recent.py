"""The history that fits: newest first, in tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from convrag import Turn


def recent(turns: Sequence[Turn], budget: int, count: Callable[[str], int]) -> list[dict[str, str]]:
    """The newest exchanges, oldest first, as a prompt's `history`; an answer that is too long loses its end.

    The newest question always stays, since most references point there.

    Args:
        turns: the history, oldest first.
        budget: tokens of all questions and answers together.
        count: tells the tokens of a text.
    """
    shown: list[dict[str, str]] = []
    left = budget
    for turn in reversed(turns):
        left -= count(turn.question)
        if left <= 0 and shown:
            break
        answer = beginning(turn.answer, max(left, 0), count)
        shown.append({"user": turn.question, "assistant": answer})
        left -= count(answer)
        if answer != turn.answer or left <= 0:
            break
    return shown[::-1]


def beginning(text: str, budget: int, count: Callable[[str], int]) -> str:
    """As many words from the beginning of a text as the budget has tokens for; the whole where it fits."""
    if count(text) <= budget:
        return text
    parts = text.split()
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        if count(" ".join(parts[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    return " ".join(parts[:low])
