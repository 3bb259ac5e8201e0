"""`ConversationTracker`: deduplication along chains of requests, for a server that sees request ids alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from convrag_dedup.deduplication import normalised, reference


@dataclass(frozen=True)
class DeduplicationResult:
    """What a request brings: documents in the order asked for, each once."""

    request_id: str
    is_new_conversation: bool
    new_docs: list[Hashable] = field(default_factory=list)
    overlapping_docs: list[Hashable] = field(default_factory=list)
    reference_hints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Request:
    parent: str | None
    shown: frozenset[str]


class ConversationTracker:
    """Knows of each request what the chain of its parents has shown. Callable from any thread.

    Args:
        hint: makes a location hint from an id; by default the seed's sentence.
        limit: how many requests are kept; the oldest goes first. None keeps all.
    """

    def __init__(self, *, hint: Callable[[str], str] = reference, limit: int | None = None) -> None:
        self._hint = hint
        self._limit = limit
        self._requests: dict[str, _Request] = {}
        self._lock = threading.Lock()

    def deduplicate(
        self, request_id: str, doc_ids: Sequence[Hashable], parent_request_id: str | None = None
    ) -> DeduplicationResult:
        """Divide a request's documents into new ones, and those that the chain before it has shown.

        Args:
            request_id: its name; asked again under the same name, it takes the place of what was there.
            doc_ids: best first; 1 and "1" are the same document, and one that comes twice counts once.
            parent_request_id: the request before; an unknown one begins a new conversation.
        """
        distinct: dict[str, Hashable] = {}
        for doc_id in doc_ids:
            distinct.setdefault(normalised(doc_id), doc_id)
        with self._lock:
            chain = self._chain(parent_request_id)
            seen = {key for name in chain if name != request_id for key in self._requests[name].shown}
            new = {key: doc_id for key, doc_id in distinct.items() if key not in seen}
            self._keep(request_id, _Request(parent_request_id if chain else None, frozenset(new)))
        old = [key for key in distinct if key in seen]
        return DeduplicationResult(
            request_id=request_id,
            is_new_conversation=not chain,
            new_docs=list(new.values()),
            overlapping_docs=[distinct[key] for key in old],
            reference_hints=[self._hint(key) for key in old],
        )

    def get_conversation_chain(self, request_id: str) -> list[str]:
        """The ids of a request and its parents, oldest first; empty for an unknown one."""
        with self._lock:
            return self._chain(request_id)[::-1]

    def clear_conversation(self, request_id: str) -> int:
        """Forget a request and its parents; says how many that were."""
        with self._lock:
            chain = self._chain(request_id)
            for name in chain:
                del self._requests[name]
            return len(chain)

    def reset(self) -> None:
        """Forget all requests."""
        with self._lock:
            self._requests.clear()

    def _chain(self, request_id: str | None) -> list[str]:
        """A request and its parents, newest first. Ids that name each other as parents end the chain."""
        chain: dict[str, None] = {}
        while request_id is not None and request_id in self._requests and request_id not in chain:
            chain[request_id] = None
            request_id = self._requests[request_id].parent
        return list(chain)

    def _keep(self, request_id: str, request: _Request) -> None:
        self._requests.pop(request_id, None)
        self._requests[request_id] = request
        while self._limit is not None and len(self._requests) > self._limit:
            del self._requests[next(iter(self._requests))]
