"""`ConversationTracker`: deduplication for servers, which see requests that continue each other."""

import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from convrag import ConfigError
from convrag_dedup.deduplication import first_by_id, format_hint, normalise_id

MAX_REQUESTS = 10_000
"""The number of requests that a tracker keeps by default."""


@dataclass(frozen=True)
class DeduplicationResult:
    """The documents of a request, in the order given, each once.

    Args:
        request_id: the id of the request.
        is_new_conversation: whether its parent is unknown.
        new_docs: ids that no request before it has shown, as given.
        overlapping_docs: the other ids, as given.
        reference_hints: a hint for each overlapping document.
    """

    request_id: str
    is_new_conversation: bool
    new_docs: list[Hashable]
    overlapping_docs: list[Hashable]
    reference_hints: list[str]


@dataclass(frozen=True)
class _Request:
    """A request: the id of the one before it, and the documents that it was the first to show."""

    parent: str | None
    new_docs: frozenset[str]


class ConversationTracker:
    """Finds the documents of a request that the requests before it have shown (RAGBoost's API).

    A request names the one that it continues, so that a conversation is a chain of requests. The
    time of a request grows with its documents and with the length of its chain. Thread-safe.

    Args:
        max_requests: the number of requests that are kept; the oldest is dropped first, and the
            documents that it has shown are new again. None keeps all.

    Raises:
        ConfigError: max_requests is below 1.
    """

    def __init__(self, *, max_requests: int | None = MAX_REQUESTS) -> None:
        if max_requests is not None and max_requests < 1:
            raise ConfigError(f"max_requests={max_requests}: it must be at least 1, or None")
        self._max_requests = max_requests
        self._requests: dict[str, _Request] = {}
        """Request id -> request, oldest first."""
        self._lock = threading.Lock()

    def deduplicate(
        self, request_id: str, doc_ids: Sequence[Hashable], parent_request_id: str | None = None
    ) -> DeduplicationResult:
        """Divide a request's documents into new ones and those that its chain has shown.

        Args:
            request_id: its id; a known one replaces the earlier request of that id.
            doc_ids: best first; 1 and "1" are the same document, and a repeated one counts once.
            parent_request_id: the request that it continues; an unknown one begins a conversation.
        """
        given = first_by_id((doc_id, doc_id) for doc_id in doc_ids)
        with self._lock:
            chain = self._list_chain(parent_request_id)
            shown: set[str] = set()
            for name in chain:
                if name != request_id:
                    shown |= self._requests[name].new_docs
            new = [key for key in given if key not in shown]
            overlapping = [key for key in given if key in shown]
            parent = parent_request_id if chain else None
            self._add(request_id, _Request(parent, frozenset(new)))
        return DeduplicationResult(
            request_id=request_id,
            is_new_conversation=not chain,
            new_docs=[given[key] for key in new],
            overlapping_docs=[given[key] for key in overlapping],
            reference_hints=[format_hint(normalise_id(key)) for key in overlapping],
        )

    def get_conversation_chain(self, request_id: str) -> list[str]:
        """Return the ids of a request and those before it, oldest first; empty if unknown."""
        with self._lock:
            return self._list_chain(request_id)[::-1]

    def clear_conversation(self, request_id: str) -> int:
        """Forget a request and those before it, and return how many these were."""
        with self._lock:
            chain = self._list_chain(request_id)
            for name in chain:
                del self._requests[name]
            return len(chain)

    def reset(self) -> None:
        """Forget all requests."""
        with self._lock:
            self._requests.clear()

    def _add(self, request_id: str, request: _Request) -> None:
        """Add a request as the newest, and drop the oldest one if there are too many."""
        self._requests.pop(request_id, None)
        self._requests[request_id] = request
        if self._max_requests is not None and len(self._requests) > self._max_requests:
            oldest = next(iter(self._requests))
            del self._requests[oldest]

    def _list_chain(self, request_id: str | None) -> list[str]:
        """List a request and those before it, newest first; a circle ends where it closes."""
        chain: list[str] = []
        seen: set[str] = set()
        name = request_id
        while name is not None and name in self._requests and name not in seen:
            chain.append(name)
            seen.add(name)
            name = self._requests[name].parent
        return chain
