"""The newest part of the history that fits into a number of tokens, for the prompt that condenses a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from convrag import Turn


def select_newest_exchanges(
    turns: Sequence[Turn], max_tokens: int, count_tokens: Callable[[str], int], counted: dict[str, int] | None = None
) -> list[dict[str, str]]:
    """The newest exchanges that fit, oldest first, as a prompt's `history`; an answer that is too long is truncated.

    The newest question is always among them, since most references point to it.

    Args:
        turns: the history, oldest first.
        max_tokens: for all questions and answers together.
        count_tokens: counts the tokens of a text.
        counted: question or answer -> its tokens, for texts that were counted before; new ones are added.

    Returns:
        For each exchange its question as `user` and its answer as `assistant`.
    """
    counted = {} if counted is None else counted

    def count_once(text: str) -> int:
        if text not in counted:
            counted[text] = count_tokens(text)
        return counted[text]

    exchanges: list[dict[str, str]] = []
    remaining = max_tokens
    for turn in reversed(turns):
        remaining -= count_once(turn.question)
        if remaining <= 0 and exchanges:
            break
        whole = count_once(turn.answer) <= max(remaining, 0)
        answer = turn.answer if whole else truncate_text(turn.answer, max(remaining, 0), count_tokens)
        exchanges.append({"user": turn.question, "assistant": answer})
        remaining -= count_once(turn.answer)
        if remaining <= 0:
            break
    return exchanges[::-1]


def truncate_text(text: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """The longest beginning of a text, in whole words, that fits into so many tokens; the whole text where it fits."""
    if count_tokens(text) <= max_tokens:
        return text
    words = text.split()
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(" ".join(words[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return " ".join(words[:low])
