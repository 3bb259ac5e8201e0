"""`RAGPipeline`: RAGBoost's conversation API over convrag's pipeline."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from convrag import ConfigError, Conversations, ConvragError, Pipeline, TurnRecord, UnknownName
from convrag.sdk.tasks.turns import MAX_CONVERSATIONS, TurnOptions
from convrag.sdk.types import Usage
from convrag_dedup.deduplication import format_context, format_hint, normalise_id
from convrag_dedup.stats import ConversationStats, pooled_stats
from convrag_dedup.turn_arguments import check_conversation_id, check_count, read_query

_SERVERS = ("sglang", "vllm", "openai")


@dataclass(frozen=True)
class InferenceConfig:
    """The model that answers, and its server.

    Args:
        model_name: as the server names it; with backend "litellm", as litellm does.
        backend: "sglang", "vllm" or "openai" (any server of the OpenAI protocol), or "litellm" (any
            provider).
        base_url: the server's address, with or without /v1; None takes the provider's own.
        max_tokens: the longest answer, in tokens.
        temperature: of the answers; 0 gives the likeliest, None leaves it to the generator.
    """

    model_name: str
    backend: str = "sglang"
    base_url: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def overrides(self) -> list[str]:
        """Return the overrides that choose this model. Raises UnknownName for a backend."""
        if self.backend not in (*_SERVERS, "litellm"):
            raise UnknownName("InferenceConfig: backend", self.backend, (*_SERVERS, "litellm"))
        model = self.model_name if self.backend == "litellm" else f"openai/{self.model_name}"
        chosen = ["llm=litellm", f"llm.model={quote_override(model)}"]
        if self.base_url is not None:
            chosen.append(f"llm.api_base={quote_override(self._api_base(self.base_url))}")
        if self.max_tokens is not None:
            chosen.append(f"llm.max_tokens={self.max_tokens}")
        if self.temperature is not None:  # a generator's own overrides the llm's
            chosen.append(f"generator.temperature={self.temperature}")
        return chosen

    def _api_base(self, base_url: str) -> str:
        """Return the address with /v1, which servers of the OpenAI protocol need."""
        url = base_url.rstrip("/")
        if self.backend == "litellm" or url.endswith("/v1"):
            return url
        return f"{url}/v1"


def quote_override(value: object) -> str:
    """Quote a value so that Hydra reads it back unchanged."""
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\$")
    return f"'{escaped}'"


MAX_PIPELINES = 16
"""The number of combinations of a turn's options whose pipelines are kept.

A caller may give each turn another max_tokens.
"""


class RAGPipeline:
    """Conversations over a corpus, turn by turn, with hints in place of documents shown before.

    A turn without an answer gives its context to the caller, who keeps it: its hints point at
    contexts that earlier turns gave. The hints of a turn with an answer point only at text in the
    messages that are sent with it. Thread-safe; the turns of one conversation run one after the
    other. A turn that fails raises ConvragError and leaves its conversation as it was.

    Args:
        retriever: the name of a retriever ("bm25", "dense", "hybrid", ...).
        corpus_path: JSONL file of passages, as dataset=jsonl reads it.
        use_ragboost: False never deduplicates, whatever a turn asks for.
        inference: the model that answers; None quotes sentences of the passages (llm=extractive).
        top_k: the number of documents that a turn retrieves by default.
        rewriter: makes the retrieval query. RAGBoost joins the last messages, as last_n does;
            rewriters that ask a model find better passages, and fewer duplicates.
        generator: answers. Hints need one that sends earlier evidence along, as chat does;
            chat_ragboost is chat in RAGBoost's frame.
        overrides: anything else of convrag's command line ("context.order=stable").
        folder: keeps conversations on disk (conversations.db), where they continue after a restart;
            None keeps them in memory.
        max_conversations: the number of conversations in memory; the least recently used is dropped
            first. None keeps all.
        ttl: seconds after which an unused conversation is dropped from memory.

    Raises:
        ConfigError: something cannot be chosen or set.
        NotReady: something is missing: a key, a file, an extra.
    """

    def __init__(
        self,
        retriever: str = "bm25",
        corpus_path: str | Path | None = None,
        use_ragboost: bool = True,
        inference: InferenceConfig | None = None,
        *,
        top_k: int = 5,
        rewriter: str = "last_n",
        generator: str = "chat_ragboost",
        overrides: Sequence[str] = (),
        folder: str | Path | None = None,
        max_conversations: int | None = MAX_CONVERSATIONS,
        ttl: float | None = None,
    ) -> None:
        if corpus_path is None:
            raise ConfigError("RAGPipeline needs corpus_path: a JSONL file of passages")
        self._overrides = [
            "dataset=jsonl",
            f"dataset.corpus={quote_override(corpus_path)}",
            f"retriever={retriever}",
            f"rewriter={rewriter}",
            f"generator={generator}",
            "context=dedup",
            "metrics=[]",
            *(inference.overrides() if inference else ["llm=extractive"]),
            *overrides,
        ]
        self.use_ragboost = use_ragboost
        self.top_k = check_count("top_k", top_k)
        self._max_tokens = inference.max_tokens if inference else None
        database = None if folder is None else Path(folder) / "conversations.db"
        self.conversations = Conversations(database, limit=max_conversations, ttl=ttl)
        self._stats = ConversationStats(self.conversations)
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._locks_guard = threading.Lock()
        self._pipelines_guard = threading.Lock()
        self._compose = lru_cache(MAX_PIPELINES)(Pipeline.compose)
        self._pipeline(deduplicate=True, generate=False, max_tokens=None)

    def process_conversation_turn(
        self,
        conversation_id: str,
        query: str | Mapping[str, Any],
        top_k: int | None = None,
        enable_deduplication: bool = True,
        generate_response: bool = False,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Ask the next question of a conversation; the result has RAGBoost's fields (see
        docs/systems.md).

        Args:
            conversation_id: any name; a new one begins a conversation.
            query: the user's words, or a mapping that has them as "text", "query" or "question".
            top_k: documents to retrieve, and to show.
            enable_deduplication: False shows everything in full, and updates history and statistics
                all the same.
            generate_response: whether to answer.
            max_tokens: the longest answer of this turn.

        Raises:
            ConfigError: an argument has another type, is blank, or is a number below 1.
            ConvragError: the turn failed.
        """
        check_conversation_id(conversation_id)
        text = read_query(query)
        wanted = self.top_k if top_k is None else check_count("top_k", top_k)
        if max_tokens is not None:
            check_count("max_tokens", max_tokens)
        deduplicate = enable_deduplication and self.use_ragboost
        pipeline = self._pipeline(
            deduplicate=deduplicate, generate=generate_response, max_tokens=max_tokens
        )
        options = TurnOptions(top_k=wanted, generate=generate_response)
        with self._lock(conversation_id):
            conversation = self.conversations.begin(conversation_id, "default")
            with conversation.lock:
                self.conversations.refresh(conversation)
                record = pipeline.answer(conversation.make_question(text), options)
                if record.error:
                    raise ConvragError(f"conversation {conversation_id!r}: {record.error}")
                stats = self._stats.add_turn(conversation, record.evidence.trace)
                self.conversations.append(conversation, record)
        result = describe_turn(record) | {"conversation_stats": stats}
        if generate_response:
            result |= describe_answer(record)
        return result

    def get_conversation_stats(self, conversation_id: str | None = None) -> dict[str, Any] | None:
        """Return the statistics of a conversation; of all together without an id.

        None for an unknown conversation.
        """
        if conversation_id is None:
            found = [self.get_conversation_stats(name) for name in self.conversations.ids()]
            return pooled_stats([stats for stats in found if stats])
        check_conversation_id(conversation_id)
        with self._lock(conversation_id):
            conversation = self.conversations.get(conversation_id)
            if conversation is None or not conversation.history:
                return None
            with conversation.lock:
                return self._stats.read(conversation)

    def reset_conversation(self, conversation_id: str) -> None:
        """Forget a conversation; an unknown one changes nothing."""
        check_conversation_id(conversation_id)
        with self._lock(conversation_id):
            self.conversations.delete(conversation_id)

    def reset_all_conversations(self) -> None:
        """Forget all conversations."""
        for conversation_id in self.conversations.ids():
            self.reset_conversation(conversation_id)

    def _lock(self, conversation_id: str) -> threading.Lock:
        """Return the lock of a conversation, which is kept as long as a thread uses it."""
        with self._locks_guard:
            return self._locks.setdefault(conversation_id, threading.Lock())

    def _pipeline(self, *, deduplicate: bool, generate: bool, max_tokens: int | None) -> Pipeline:
        """Return the pipeline for a turn with these options.

        The pipelines share all stages that do not depend on the options.
        """
        wanted = [
            f"context.hints={str(deduplicate).lower()}",
            f"context.only_if_present={str(generate).lower()}",
        ]
        longest = self._max_tokens if max_tokens is None else max_tokens
        if longest is not None:
            wanted.append(f"generator.max_tokens={longest}")
        with self._pipelines_guard:
            return self._compose(*self._overrides, *wanted)


_NO_STATISTICS = ("missing", "hints", "repeated")
"""Entries of a trace of context=dedup that are not statistics."""


def describe_turn(record: TurnRecord) -> dict[str, Any]:
    """Return the fields of a result that each turn has.

    The context is in RAGBoost's format, whatever labels the generator's own messages have.
    """
    items = record.evidence.items
    trace = record.evidence.trace
    hints = {key: format_hint(target) for key, target in trace["hints"].items()}
    shown = []
    for item in items:
        key = normalise_id(item.passage.id)
        shown.append((key, hints.get(key, item.text)))
    return {
        "query": record.original_query,
        "search_query": record.rewritten_query,
        "retrieved_docs": [hit.passage.id for hit in record.hits],
        "novel_docs": [item.passage.id for item in items if not item.hint],
        "deduplicated_docs": [item.passage.id for item in items if item.hint],
        "missing_docs": list(trace["missing"]),
        "context": format_context(shown, hints),
        "deduplication_stats": {
            name: value for name, value in trace.items() if name not in _NO_STATISTICS
        },
    }


def describe_answer(record: TurnRecord) -> dict[str, Any]:
    """Return the further fields of a result with an answer."""
    metadata = {
        "latency": record.timings["generator"],
        "model": record.answer.trace.get("model", ""),
        "citations": list(record.answer.citations),
        **asdict(record.usage.get("generator", Usage())),
    }
    return {"response": record.answer.text, "generation_metadata": metadata}
