"""The number of tokens of turns."""

from collections.abc import Callable, Iterable, MutableMapping

from convrag import Turn


class TurnTokens:
    """Counts the tokens of turns, of the question and the answer together.

    Args:
        count_tokens: counts the tokens of a text.
        known: (question, answer) -> tokens, for turns that were counted before; new ones are added.
    """

    def __init__(
        self, count_tokens: Callable[[str], int], known: MutableMapping[tuple[str, str], int]
    ) -> None:
        self._count_tokens = count_tokens
        self._known = known

    def count(self, turn: Turn) -> int:
        """Count the tokens of one turn."""
        key = (turn.question, turn.answer)
        if key not in self._known:
            question_tokens = self._count_tokens(turn.question)
            answer_tokens = self._count_tokens(turn.answer)
            self._known[key] = question_tokens + answer_tokens
        return self._known[key]

    def sum(self, turns: Iterable[Turn]) -> int:
        """Count the tokens of several turns."""
        return sum(self.count(turn) for turn in turns)
