"""Where a passage stands in the messages that will be sent, and the hint that points there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convrag import Message, Passage
from convrag_dedup.deduplication import format_hint, format_label, normalise_id
from convrag_dedup.shown_passages import ShownPassage, ShownPassages

_QUOTED_WORDS = 8  # of a passage's beginning: enough to tell it from other passages


class HintFinder:
    """Finds the hints for the passages of one turn.

    Args:
        shown: what the conversation has shown.
        messages: the earlier messages that will be sent; None if hints need not be looked up in them.
        turns: how many turns came before.
        compare_content: whether a passage with a changed text is new.
    """

    def __init__(
        self, shown: ShownPassages, messages: Sequence[Message] | None, turns: int, *, compare_content: bool
    ) -> None:
        self._shown = shown
        self._messages = None if messages is None else SentMessages(messages, turns)
        self._compare_content = compare_content

    def find_hint(self, passage: Passage) -> str | None:
        """The hint to show instead of a passage; None where it must be shown in full."""
        same = self._shown.find_same(passage, compare_content=self._compare_content)
        if (shown := same or self._shown.find_near_duplicate(passage)) is None:
            return None
        if self._messages is None:
            return format_hint(normalise_id(shown.passage.id))
        message = self._messages.find_message(shown)
        return None if message is None else self._hint_at(shown, message)

    def _hint_at(self, shown: ShownPassage, message: str) -> str:
        """RAGBoost's sentence; with the passage's beginning where the message's labels do not name just this text."""
        key = normalise_id(shown.passage.id)
        if format_label(key) in message and self._shown.has_one_version(shown.passage):
            return format_hint(key)
        beginning = " ".join(shown.passage.text.split()[:_QUOTED_WORDS])
        return f'{format_hint(key)} It begins: "{beginning}"'


class SentMessages:
    """The messages that the generator will send before a turn, as it has announced them.

    Args:
        messages: oldest first.
        turns: how many turns came before.
    """

    def __init__(self, messages: Sequence[Message], turns: int) -> None:
        self._messages = messages
        self._turns = turns

    def find_message(self, shown: ShownPassage) -> str | None:
        """The content of a message with a passage's full text; None if no message has it.

        The messages near the passage's turns are tried first, counted from the end and from the beginning, with two
        messages for a turn and one for the system: so the time does not grow with the number of messages. The others
        follow, newest first.
        """
        text = shown.passage.text.strip()
        for number in self._likely_positions(shown):
            if text in self._messages[number].content:
                return self._messages[number].content
        return next((message.content for message in reversed(self._messages) if text in message.content), None)

    def _likely_positions(self, shown: ShownPassage) -> Iterator[int]:
        count = len(self._messages)
        for turn in dict.fromkeys((shown.last, shown.first)):
            for position in (count - 2 * (self._turns - turn), 2 * turn):
                yield from range(max(position, 0), min(position + 2, count))
