"""`ConversationTracker`: deduplication along chains of requests, for a server that knows only request ids."""

import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from convrag_dedup.deduplication import deduplicate, first_by_id, format_hint, format_label

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

    The time of a request grows with its documents and with the length of its conversation. Thread-safe.

    Args:
        limit: how many requests are kept; the oldest is dropped first, and what it has shown is new again. None keeps
            all.
    """

    def __init__(self, *, limit: int | None = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._requests: dict[str, tuple[str | None, frozenset[str]]] = {}
        """Request id, oldest first -> the id of the request before it, and what it was the first to show."""
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
            chain = self._list_chain(parent_request_id)
            earlier = [self._requests[name][1] for name in chain if name != request_id]
            shown = {key for key in given if any(key in documents for documents in earlier)}
            # a server knows no texts: a label stands for each
            turn = deduplicate(given, lambda key: format_hint(key) if key in shown else None, format_label)
            self._requests.pop(request_id, None)
            self._requests[request_id] = (parent_request_id if chain else None, frozenset(turn.novel))
            while self._limit is not None and len(self._requests) > self._limit:
                del self._requests[next(iter(self._requests))]
        return DeduplicationResult(
            request_id=request_id,
            is_new_conversation=not chain,
            new_docs=[given[key] for key in turn.novel],
            overlapping_docs=[given[key] for key in turn.hinted],
            reference_hints=[turn.shown[key] for key in turn.hinted],
        )

    def get_conversation_chain(self, request_id: str) -> list[str]:
        """The ids of a request and its ancestors, oldest first; empty for an unknown one."""
        with self._lock:
            return self._list_chain(request_id)[::-1]

    def clear_conversation(self, request_id: str) -> int:
        """Forget a request and its ancestors; gives how many requests that were."""
        with self._lock:
            chain = self._list_chain(request_id)
            for name in chain:
                del self._requests[name]
            return len(chain)

    def reset(self) -> None:
        """Forget all requests."""
        with self._lock:
            self._requests.clear()

    def _list_chain(self, name: str | None) -> list[str]:
        """A request and its ancestors, newest first. Requests that are each other's ancestors end the chain."""
        chain: dict[str, None] = {}
        while name is not None and name in self._requests and name not in chain:
            chain[name] = None
            name = self._requests[name][0]
        return list(chain)
