"""`ConversationState`: the state of one conversation of RAGBoost's API."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from convrag_dedup.deduplication import normalise_id
from convrag_dedup.shown_passages import ShownVersions
from convrag_dedup.stats import DOCUMENT_COUNTS, conversation_stats


class ConversationState:
    """What one conversation has shown, and its statistics.

    Attributes:
        conversation_id: its name.
        messages: {"role": ..., "content": ...}, oldest first.
        turn_count: how many turns it has.
        retrieved_history: the ids of the documents shown in full, as they were given.
        shown: the same ids, normalised, with their contents and the number of earlier turns.
        lock: held during a turn.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.messages: list[dict[str, str]] = []
        self.turn_count = 0
        self.retrieved_history: set[Hashable] = set()
        self.shown: ShownVersions[int] = ShownVersions()
        self.lock = threading.Lock()
        self._sums = dict.fromkeys(DOCUMENT_COUNTS, 0)

    def add_message(self, role: str, content: str) -> None:
        """Append a message."""
        self.messages.append({"role": role, "content": content})

    def update_history(self, doc_ids: Iterable[Hashable], contents: Mapping[str, bytes] | None = None) -> None:
        """Add the documents that a turn has shown in full, and count the turn.

        Args:
            doc_ids: their ids, of any type.
            contents: normalised id -> a hash of the document's text; a document without one may have any text.
        """
        for doc_id in doc_ids:
            key = normalise_id(doc_id)
            self.retrieved_history.add(doc_id)
            self.shown.add(key, contents.get(key) if contents else None, self.turn_count)
        self.turn_count += 1

    def update_stats(self, num_retrieved: int, num_novel: int, num_deduplicated: int) -> None:
        """Add a turn's numbers to the statistics."""
        for name, number in zip(DOCUMENT_COUNTS, (num_retrieved, num_novel, num_deduplicated), strict=True):
            self._sums[name] += number

    def get_stats(self) -> dict[str, Any]:
        """The statistics under RAGBoost's names. The rate is a fraction from 0 to 1."""
        return conversation_stats(self.conversation_id, self.turn_count, self._sums)
