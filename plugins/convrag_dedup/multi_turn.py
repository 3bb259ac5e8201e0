"""`MultiTurnManager`: deduplication for callers who retrieve, prompt and keep the messages."""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from convrag_dedup.deduplication import (
    deduplicate,
    first_by_id,
    format_context,
    format_hint,
    normalise_id,
)
from convrag_dedup.shown_passages import ShownVersions
from convrag_dedup.stats import DOCUMENT_COUNTS, conversation_stats, pooled_stats, turn_stats


class ConversationState:
    """The documents that one conversation has shown, and its statistics.

    Attributes:
        conversation_id: its name.
        messages: {"role": ..., "content": ...}, oldest first.
        turn_count: the number of its turns.
        retrieved_history: the ids of the documents shown in full, as they were given.
        shown: the same ids, normalised, with their contents and the number of earlier turns.
        lock: held during a turn.
        last_used: seconds on the clock of a manager with a ttl.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.messages: list[dict[str, str]] = []
        self.turn_count = 0
        self.retrieved_history: set[Hashable] = set()
        self.shown: ShownVersions[int] = ShownVersions()
        self.lock = threading.Lock()
        self.last_used = 0.0
        self._sums = dict.fromkeys(DOCUMENT_COUNTS, 0)

    def add_message(self, role: str, content: str) -> None:
        """Append a message."""
        self.messages.append({"role": role, "content": content})

    def update_history(
        self, doc_ids: Iterable[Hashable], contents: Mapping[str, bytes] | None = None
    ) -> None:
        """Add the documents that a turn has shown in full, and count the turn.

        Args:
            doc_ids: their ids, of any type.
            contents: normalised id -> a hash of the document's text; a document without one may
                have any text.
        """
        for doc_id in doc_ids:
            key = normalise_id(doc_id)
            self.retrieved_history.add(doc_id)
            self.shown.add(key, contents.get(key) if contents else None, self.turn_count)
        self.turn_count += 1

    def update_stats(self, num_retrieved: int, num_novel: int, num_deduplicated: int) -> None:
        """Add a turn's numbers to the statistics."""
        self._sums["num_retrieved"] += num_retrieved
        self._sums["num_novel"] += num_novel
        self._sums["num_deduplicated"] += num_deduplicated

    def get_stats(self) -> dict[str, Any]:
        """Return the statistics under RAGBoost's names. The rate is a fraction from 0 to 1."""
        return conversation_stats(self.conversation_id, self.turn_count, self._sums)


MAX_CONVERSATIONS = 10_000
"""The number of conversations that a manager keeps by default.

One that has shown 24 documents takes some 10 kB.
"""


class MultiTurnManager:
    """Finds the documents that are new in a conversation, and formats them (RAGBoost's API).

    A hint points at the context of an earlier turn: the caller must send those contexts along. The
    time of a turn grows with its documents, not with the conversation. Thread-safe. A turn that
    raises leaves the state as it was.

    Args:
        max_conversations: the number that is kept; the least recently used is dropped first, but
            never during its turn. One that continues after that begins anew: its documents are
            shown in full again. None keeps all.
        ttl: seconds after which an unused conversation is dropped.
        content_hash: a document whose text is not the one last shown is new; False compares ids
            alone.

    Raises:
        ValueError: max_conversations is below 1.
    """

    def __init__(
        self,
        *,
        max_conversations: int | None = MAX_CONVERSATIONS,
        ttl: float | None = None,
        content_hash: bool = True,
    ) -> None:
        if max_conversations is not None and max_conversations < 1:
            raise ValueError(f"max_conversations={max_conversations}: it must be at least 1")
        self.conversations: OrderedDict[str, ConversationState] = OrderedDict()
        self.max_conversations = max_conversations
        self.ttl = ttl
        self.content_hash = content_hash
        self._guard = threading.Lock()

    def deduplicate_context(
        self,
        conversation_id: str,
        retrieved_doc_ids: Sequence[Hashable],
        corpus_map: Mapping[Any, Any],
        enable_deduplication: bool = True,
    ) -> tuple[str, list[Hashable], dict[str, Any]]:
        """Deduplicate the documents of one turn.

        Args:
            conversation_id: any name; a new one begins a conversation.
            retrieved_doc_ids: best first; 1 and "1" are the same document, and a repeated one
                counts once.
            corpus_map: str(id), or the id itself, -> {"text": ...} (or "content"), or the text; a
                document that is not there is `missing`.
            enable_deduplication: False shows everything in full, and updates history and statistics
                all the same.

        Returns:
            The context, the ids of the documents shown in full (as given), and the turn's
            statistics.
        """
        given = first_by_id((doc_id, doc_id) for doc_id in retrieved_doc_ids)
        while True:
            state = self.get_conversation(conversation_id)
            with state.lock:
                was_dropped = self.conversations.get(conversation_id) is not state
                if not was_dropped:
                    return self._run_turn(state, given, corpus_map, enable_deduplication)

    def _run_turn(
        self,
        state: ConversationState,
        given: dict[str, Hashable],
        corpus_map: Mapping[Any, Any],
        hints: bool,
    ) -> tuple[str, list[Hashable], dict[str, Any]]:
        """Run one turn, with its lock held.

        All that may fail comes before the first change of the state.
        """
        hashes: dict[str, bytes] = {}

        def get_text(key: str) -> str:
            document = corpus_map.get(key)
            if document is None:
                document = corpus_map.get(given[key])
            return _get_text(document)

        def find_hint(key: str) -> str | None:
            if self.content_hash:
                hashes[key] = _hash(get_text(key))
            if not hints or state.shown.find_last(key, hashes.get(key)) is None:
                return None
            return format_hint(key)

        turn = deduplicate(given, find_hint, get_text)
        context = format_context(turn.shown.items(), turn.hinted)
        novel = [given[key] for key in turn.novel]
        stats = turn_stats(turn)
        state.update_history(novel, hashes)
        state.update_stats(stats["num_retrieved"], stats["num_novel"], stats["num_deduplicated"])
        return context, novel, stats | {"missing": [given[key] for key in turn.missing]}

    def get_conversation(self, conversation_id: str) -> ConversationState:
        """Return the state of a conversation; an unknown id begins one."""
        with self._guard:
            now = time.monotonic() if self.ttl is not None else 0.0
            self._drop_expired(now)
            state = self.conversations.get(conversation_id)
            if state is None:
                state = ConversationState(conversation_id)
                self.conversations[conversation_id] = state
                self._drop_excess(newest=conversation_id)
            self.conversations.move_to_end(conversation_id)
            state.last_used = now
            return state

    def get_conversation_stats(self, conversation_id: str) -> dict[str, Any] | None:
        """Return the statistics of a conversation; None for an unknown one."""
        with self._guard:
            state = self.conversations.get(conversation_id)
        if state is None:
            return None
        with state.lock:
            return state.get_stats()

    def get_all_stats(self) -> dict[str, Any]:
        """Return the statistics of all conversations together."""
        with self._guard:
            states = list(self.conversations.values())
        found = []
        for state in states:
            with state.lock:
                found.append(state.get_stats())
        return pooled_stats(found)

    def reset_conversation(self, conversation_id: str) -> None:
        """Forget a conversation; an unknown one changes nothing."""
        with self._guard:
            self.conversations.pop(conversation_id, None)

    def reset_all(self) -> None:
        """Forget all conversations."""
        with self._guard:
            self.conversations.clear()

    def _drop_expired(self, now: float) -> None:
        """Drop the conversations unused for longer than the ttl, oldest first.

        One that is in a turn stays, and those after it.
        """
        if self.ttl is None:
            return
        while self.conversations:
            oldest = next(iter(self.conversations))
            is_expired = now - self.conversations[oldest].last_used > self.ttl
            if not is_expired or not self._drop(oldest):
                return

    def _drop_excess(self, newest: str) -> None:
        """Drop the least recently used conversations above the limit.

        The newest and those in a turn stay.
        """
        if self.max_conversations is None:
            return
        while len(self.conversations) > self.max_conversations:
            others = (name for name in self.conversations if name != newest)
            was_dropped = any(self._drop(name) for name in others)
            if not was_dropped:
                return

    def _drop(self, conversation_id: str) -> bool:
        """Drop a conversation; False where it is in a turn, and stays."""
        state = self.conversations[conversation_id]
        if not state.lock.acquire(blocking=False):
            return False
        del self.conversations[conversation_id]
        state.lock.release()
        return True


def _get_text(document: Any) -> str:
    """Return a document's `text`, else its `content`; a string is its own text."""
    if isinstance(document, str):
        return document
    if document is None:
        return ""
    text = document.get("text") or document.get("content")
    return text if isinstance(text, str) else ""


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
