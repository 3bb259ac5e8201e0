"""The tokens of turns, each counted once in a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping

from convrag import Turn


class TurnTokens:
    """Counts the tokens of turns: those of the question and of the answer.

    Args:
        count_tokens: counts the tokens of a text.
        known: (question, answer) -> tokens, for turns that were counted before; new ones are added.
    """

    def __init__(self, count_tokens: Callable[[str], int], known: MutableMapping[tuple[str, str], int]) -> None:
        self._count_tokens = count_tokens
        self._known = known

    def count(self, turn: Turn) -> int:
        """The tokens of one turn."""
        key = turn.question, turn.answer
        if (tokens := self._known.get(key)) is None:
            tokens = self._known[key] = self._count_tokens(turn.question) + self._count_tokens(turn.answer)
        return tokens

    def sum(self, turns: Iterable[Turn]) -> int:
        """The tokens of several turns."""
        return sum(map(self.count, turns))
