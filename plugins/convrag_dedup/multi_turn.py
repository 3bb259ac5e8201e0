"""`MultiTurnManager`: deduplication for callers who retrieve, prompt and keep the messages themselves."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from convrag_dedup.conversation_state import ConversationState
from convrag_dedup.deduplication import counts, joined, normalised, overlap, reference
from convrag_dedup.totals import totals_of_all


class MultiTurnManager:
    """Tells, conversation by conversation, which documents are new, and formats them.

    A hint points at what an earlier turn's context held: it is for the caller to send those contexts along. A turn
    takes time in proportion to its documents, however long the conversation. Callable from any thread. A turn that
    raises leaves the state as it was.

    Args:
        max_conversations: how many are held; the one used longest ago goes first, but never during its turn.
        ttl: seconds after which a conversation that was not used is dropped.
        content_hash: a document whose text is not the one last shown is new; False compares ids alone.
    """

    def __init__(
        self, *, max_conversations: int | None = None, ttl: float | None = None, content_hash: bool = True
    ) -> None:
        if max_conversations is not None and max_conversations < 1:
            raise ValueError(f"max_conversations={max_conversations}: it must be at least 1")
        self.conversations: OrderedDict[str, ConversationState] = OrderedDict()
        self.max_conversations = max_conversations
        self.ttl = ttl
        self.content_hash = content_hash
        self._used: dict[str, float] = {}
        self._guard = threading.Lock()

    def deduplicate_context(
        self,
        conversation_id: str,
        retrieved_doc_ids: Sequence[Hashable],
        corpus_map: Mapping[Any, Any],
        enable_deduplication: bool = True,
    ) -> tuple[str, list[Hashable], dict[str, Any]]:
        """One turn: the context, the ids of the documents shown in full (as given), and the turn's statistics.

        Args:
            conversation_id: any name; a new one begins a conversation.
            retrieved_doc_ids: best first; 1 and "1" are the same document, and one that comes twice counts once.
            corpus_map: str(id), or the id itself, -> {"text": ...} (or "content"); what it lacks is `missing`.
            enable_deduplication: False shows everything in full, and keeps count all the same.
        """
        given: dict[str, Hashable] = {}
        for doc_id in retrieved_doc_ids:
            given.setdefault(normalised(doc_id), doc_id)
        while True:
            state = self.get_conversation(conversation_id)
            with state.lock:
                if self.conversations.get(conversation_id) is state:  # or it was dropped while we waited
                    return self._turn(state, given, corpus_map, enable_deduplication)

    def _turn(
        self, state: ConversationState, given: dict[str, Hashable], corpus_map: Mapping[Any, Any], deduplicate: bool
    ) -> tuple[str, list[Hashable], dict[str, Any]]:
        """One turn, with its lock held. All that may fail comes before the first change."""
        seen = state.marks
        hashing = self.content_hash

        def text(key: str) -> str:
            document = corpus_map.get(key)
            return _text(corpus_map.get(given[key]) if document is None else document)

        def hint(key: str) -> str:
            if not deduplicate or key not in seen:
                return ""
            return reference(key) if not hashing or seen[key] in (b"", _mark(text(key))) else ""

        found = overlap(given, text, hint)
        fresh = [key for key in found.shown if key not in found.hinted]
        marks = {key: _mark(text(key)) for key in fresh} if hashing else {}
        novel = [given[key] for key in fresh]
        stats = counts(found)
        stats["missing"] = [given[key] for key in found.missing]
        context = joined(found.shown.values())
        state.update_history(novel)
        seen.update(marks)
        state.update_stats(stats["num_retrieved"], stats["num_novel"], stats["num_deduplicated"])
        return context, novel, stats

    def get_conversation(self, conversation_id: str) -> ConversationState:
        """The state of a conversation, be it new."""
        with self._guard:
            return self._get(conversation_id)

    def get_conversation_stats(self, conversation_id: str) -> dict[str, Any] | None:
        """The totals of a conversation; None for an unknown one."""
        with self._guard:
            state = self.conversations.get(conversation_id)
        if state is None:
            return None
        with state.lock:
            return state.get_stats()

    def get_all_stats(self) -> dict[str, Any]:
        """The totals of all conversations together."""
        with self._guard:
            states = list(self.conversations.values())
        found = []
        for state in states:
            with state.lock:
                found.append(state.get_stats())
        return totals_of_all(found)

    def reset_conversation(self, conversation_id: str) -> None:
        """Forget a conversation; an unknown one is nothing to forget."""
        with self._guard:
            self.conversations.pop(conversation_id, None)
            self._used.pop(conversation_id, None)

    def reset_all(self) -> None:
        """Forget all conversations."""
        with self._guard:
            self.conversations.clear()
            self._used.clear()

    def _get(self, conversation_id: str) -> ConversationState:
        now = time.monotonic() if self.ttl is not None else 0.0
        self._expire(now)
        state = self.conversations.get(conversation_id)
        if state is None:
            state = self.conversations[conversation_id] = ConversationState(conversation_id)
            self._used[conversation_id] = now
            self._shrink(conversation_id)
        self.conversations.move_to_end(conversation_id)
        self._used[conversation_id] = now
        return state

    def _expire(self, now: float) -> None:
        """Drop, from the one used longest ago on, what was not used for too long and is in no turn."""
        while self.ttl is not None and self.conversations:
            oldest = next(iter(self.conversations))
            if now - self._used[oldest] <= self.ttl or not self._drop(oldest):
                break

    def _shrink(self, newest: str) -> None:
        excess = len(self.conversations) - (self.max_conversations or len(self.conversations))
        for oldest in list(self.conversations) if excess > 0 else ():
            excess -= oldest != newest and self._drop(oldest)
            if excess <= 0:
                break

    def _drop(self, conversation_id: str) -> bool:
        """Forget a conversation, unless it is in its turn."""
        state = self.conversations[conversation_id]
        if not state.lock.acquire(blocking=False):
            return False
        del self.conversations[conversation_id], self._used[conversation_id]
        state.lock.release()
        return True


def _text(document: Any) -> str:
    """A document's text: its `text`, or else its `content`; a string is its own."""
    if isinstance(document, str):
        return document
    text = None if document is None else document.get("text") or document.get("content")
    return text if isinstance(text, str) else ""


def _mark(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
