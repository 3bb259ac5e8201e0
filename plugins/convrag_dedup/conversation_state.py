"""The state of one conversation, as the seed's users inspect it."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from typing import Any

from convrag_dedup.deduplication import normalised, rate


class ConversationState:
    """What one conversation was shown, and its totals.

    Attributes:
        conversation_id: its name.
        messages: {"role": ..., "content": ...}, oldest first.
        turn_count: turns until now.
        retrieved_history: the ids that were shown, as they were given.
        marks: normalised id -> a hash of the content last shown under it; an empty one stands for any content.
        lock: held during a turn.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.messages: list[dict[str, str]] = []
        self.turn_count = 0
        self.retrieved_history: set[Hashable] = set()
        self.marks: dict[str, bytes] = {}
        self.lock = threading.Lock()
        self._retrieved = self._novel = self._deduplicated = 0

    def add_message(self, role: str, content: str) -> None:
        """Append a message."""
        self.messages.append({"role": role, "content": content})

    def update_history(self, doc_ids: Iterable[Hashable]) -> None:
        """Note the documents that a turn has shown in full, and count the turn."""
        for doc_id in doc_ids:
            self.retrieved_history.add(doc_id)
            self.marks[normalised(doc_id)] = b""
        self.turn_count += 1

    def update_stats(self, num_retrieved: int, num_novel: int, num_deduplicated: int) -> None:
        """Add a turn's numbers to the totals."""
        self._retrieved += num_retrieved
        self._novel += num_novel
        self._deduplicated += num_deduplicated

    def get_stats(self) -> dict[str, Any]:
        """The totals under the seed's names. The rate is a fraction from 0 to 1."""
        return {
            "conversation_id": self.conversation_id,
            "turn_count": self.turn_count,
            "total_retrieved": self._retrieved,
            "total_novel": self._novel,
            "total_deduplicated": self._deduplicated,
            "deduplication_rate": rate(self._deduplicated, self._retrieved),
        }
