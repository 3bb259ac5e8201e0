"""Where to point instead of showing a passage again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from convrag import Message, Passage
from convrag_dedup.deduplication import normalised, reference
from convrag_dedup.presence import Messages
from convrag_dedup.shown_passages import Past, Shown

_QUOTED = 8  # words of a passage's beginning, enough to tell it from its neighbours


class Rules(Protocol):
    """What DedupContext was told: see its parameters."""

    only_if_present: bool
    content_hash: bool


class Hints:
    """Finds, for the passages of one turn, what the hint would be.

    Args:
        past: what the conversation has shown.
        messages: the earlier messages that will be sent.
        turns: how many turns came before.
        rules: what a hint needs.
    """

    def __init__(self, past: Past, messages: Sequence[Message], turns: int, rules: Rules) -> None:
        self._past = past
        self._messages = Messages(messages, turns)
        self._rules = rules

    def instead_of(self, passage: Passage) -> str:
        """The hint to show instead of a passage; empty where it must be shown in full."""
        shown = self._past.same(passage, content=self._rules.content_hash) or self._past.alike(passage)
        if shown is None:
            return ""
        if not self._rules.only_if_present:
            return reference(normalised(shown.passage.id))
        message = self._messages.holding(shown)
        return "" if message is None else self._pointing(shown, message)

    def _pointing(self, shown: Shown, message: str) -> str:
        """The seed's sentence; where the message does not name the passage so, or not it alone, with its beginning."""
        key = normalised(shown.passage.id)
        if f"[Doc_{key}]" in message and self._past.only_version(shown.passage):
            return reference(key)
        beginning = " ".join(shown.passage.text.split()[:_QUOTED])
        return f'{reference(key)} It begins: "{beginning}"'
