"""Whether, and where, a passage stands in the messages that will be sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convrag import Message
from convrag_dedup.shown_passages import Shown


class Messages:
    """The messages that the generator has named as sent, before a turn.

    Args:
        messages: oldest first.
        turns: how many turns came before.
    """

    def __init__(self, messages: Sequence[Message], turns: int) -> None:
        self._messages = messages
        self._turns = turns

    def holding(self, shown: Shown) -> str | None:
        """The content of a message in which a passage's full text stands; None where there is none.

        The messages around its turn are tried first, counted from the end and from the beginning, two for a turn and
        one for the system: so the cost does not grow with what is sent. The others follow, newest first.
        """
        text = shown.passage.text.strip()
        for number in self._guesses(shown):
            if text in self._messages[number].content:
                return self._messages[number].content
        return next((message.content for message in reversed(self._messages) if text in message.content), None)

    def _guesses(self, shown: Shown) -> Iterator[int]:
        count = len(self._messages)
        for turn in dict.fromkeys((shown.last, shown.first)):
            for place in (count - 2 * (self._turns - turn), 2 * turn):
                yield from range(max(place, 0), min(place + 2, count))
