"""Where a passage stands in the messages that will be sent, and the hint that points there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convrag import Message, Passage
from convrag_dedup.deduplication import format_hint, format_label, normalise_id, point_at
from convrag_dedup.shown_passages import ShownPassage, ShownPassages

_LABEL = re.compile(r"\[(?:\d+|Doc_[^\[\]\n]+)\]")
_QUOTED_WORDS = 8  # of a passage's beginning: enough to tell it from other passages


class HintFinder:
    """Finds the hints for the passages of one turn.

    `targets` are the ids of the passages for which a hint was found, with the id of the passage that it points at.

    Args:
        shown: what the conversation has shown.
        messages: the earlier messages that will be sent.
        turns: how many turns came before.
        compare_content: whether a passage with a changed text is new.
        only_if_present: whether a hint may point only at text that stands in the messages.
    """

    def __init__(
        self,
        shown: ShownPassages,
        messages: Sequence[Message],
        turns: int,
        *,
        compare_content: bool,
        only_if_present: bool,
    ) -> None:
        self.targets: dict[str, str] = {}
        self._shown = shown
        self._messages = SentMessages(messages, turns)
        self._compare_content = compare_content
        self._only_if_present = only_if_present

    def find_hint(self, passage: Passage) -> str | None:
        """The hint to show instead of a passage; None where it must be shown in full."""
        same = self._shown.find_same(passage, compare_content=self._compare_content)
        if (shown := same or self._shown.find_near_duplicate(passage)) is None:
            return None
        message = self._messages.find_message(shown)
        if message is None and self._only_if_present:
            return None
        target = normalise_id(shown.passage.id)
        self.targets[normalise_id(passage.id)] = target
        return format_hint(target) if message is None else self._point_at(shown, message)

    def _point_at(self, shown: ShownPassage, message: str) -> str:
        """RAGBoost's sentence with the message's own label; with the passage's beginning where that is ambiguous."""
        label = find_label(message, shown.passage.text.strip())
        if label and self._shown.has_one_version(shown.passage):
            return point_at(label)
        beginning = " ".join(shown.passage.text.split()[:_QUOTED_WORDS])
        return f'{point_at(label or format_label(normalise_id(shown.passage.id)))} It begins: "{beginning}"'


def find_label(message: str, text: str) -> str:
    """The label that a message has before a text, "[3]" or "[Doc_7]"; empty if there is none.

    It stands in the same paragraph, or in the one before where the passage began with blank lines.
    """
    paragraph = message[: message.index(text)].rstrip().rpartition("\n\n")[2]
    found = _LABEL.search(paragraph)
    return found[0] if found else ""


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
