"""`ConversationTracker`: deduplication along chains of requests, for a server that knows only request ids."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from convrag_dedup.deduplication import deduplicate, first_by_id, format_hint, format_label
from convrag_dedup.request_chains import RequestChains

DEFAULT_LIMIT = 10_000
"""How many requests a tracker keeps by default: 500 conversations of 20 take some 20 MB, a single one some 80."""


@dataclass(frozen=True)
class DeduplicationResult:
    """The documents of a request, in the order given, each once.

    Attributes:
        request_id: the request.
        is_new_conversation: whether its parent is unknown.
        new_docs: the ids that no request before it has shown, as given.
        overlapping_docs: the other ids, as given.
        reference_hints: a hint for each of the overlapping documents.
    """

    request_id: str
    is_new_conversation: bool
    new_docs: list[Hashable] = field(default_factory=list)
    overlapping_docs: list[Hashable] = field(default_factory=list)
    reference_hints: list[str] = field(default_factory=list)


class ConversationTracker:
    """Keeps the documents that each request has shown, and finds those that a request's ancestors have shown.

    The time of a request grows with its documents and with the logarithm of its conversation's length, except after a
    request with others behind it was replaced: those find their ancestors anew. Thread-safe.

    Args:
        hint: makes a location hint from a normalised id; RAGBoost's sentence by default.
        limit: how many requests are kept; the oldest is dropped first, and what it has shown is new again. None keeps
            all.
    """

    def __init__(self, *, hint: Callable[[str], str] = format_hint, limit: int | None = DEFAULT_LIMIT) -> None:
        self._format_hint = hint
        self._limit = limit
        self._requests = RequestChains()
        self._lock = threading.Lock()

    def deduplicate(
        self, request_id: str, doc_ids: Sequence[Hashable], parent_request_id: str | None = None
    ) -> DeduplicationResult:
        """Divide a request's documents into new ones and those that its ancestors have shown.

        Args:
            request_id: its name; a known one replaces the earlier request of that name.
            doc_ids: best first; 1 and "1" are the same document, and a repeated one counts once.
            parent_request_id: the request before; an unknown one begins a new conversation.
        """
        given = first_by_id((doc_id, doc_id) for doc_id in doc_ids)
        with self._lock:
            parent = parent_request_id if parent_request_id in self._requests else None
            shown = self._requests.find_shown(given, parent, request_id)
            # a server knows no texts: a label stands for each, and the hints are formatted without the lock
            turn = deduplicate(given, lambda key: key if key in shown else None, format_label)
            self._requests.add(request_id, parent, tuple(turn.novel))
            while self._limit is not None and len(self._requests) > self._limit:
                self._requests.drop_oldest()
        return DeduplicationResult(
            request_id=request_id,
            is_new_conversation=parent is None,
            new_docs=[given[key] for key in turn.novel],
            overlapping_docs=[given[key] for key in turn.hinted],
            reference_hints=[self._format_hint(key) for key in turn.hinted],
        )

    def get_conversation_chain(self, request_id: str) -> list[str]:
        """The ids of a request and its ancestors, oldest first; empty for an unknown one."""
        with self._lock:
            return self._requests.list_chain(request_id)[::-1]

    def clear_conversation(self, request_id: str) -> int:
        """Forget a request and its ancestors; gives how many requests that were."""
        with self._lock:
            chain = self._requests.list_chain(request_id)
            for name in reversed(chain):
                self._requests.drop(name)
            return len(chain)

    def reset(self) -> None:
        """Forget all requests."""
        with self._lock:
            self._requests = RequestChains()
