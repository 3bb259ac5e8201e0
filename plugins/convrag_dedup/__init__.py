"""RAGBoost's context deduplication: passages that the conversation has already shown become hints.

The options: context (`context=dedup`), metrics (`metrics=dedup`, the run's report), prefix_reuse
(`metrics=prefix_reuse`). RAGBoost's API over the same code: multi_turn (`MultiTurnManager`), conversation_state,
conversation_tracker (with request_chains, persistent_map), rag_pipeline (with turn_fields), inference_config. What both
use: deduplication (novel, hinted, missing), stats, shown_passages, near_duplicates, lookup (of a text in the messages),
radix_tree.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag import Register, hookimpl

if TYPE_CHECKING:
    from convrag_dedup.conversation_state import ConversationState
    from convrag_dedup.conversation_tracker import ConversationTracker, DeduplicationResult
    from convrag_dedup.inference_config import InferenceConfig
    from convrag_dedup.multi_turn import MultiTurnManager
    from convrag_dedup.rag_pipeline import RAGPipeline

# RAGBoost's classes, which no option needs, are imported on first access.
_RAGBOOST_API = {
    "ConversationState": "conversation_state",
    "ConversationTracker": "conversation_tracker",
    "DeduplicationResult": "conversation_tracker",
    "InferenceConfig": "inference_config",
    "MultiTurnManager": "multi_turn",
    "RAGPipeline": "rag_pipeline",
}

__all__ = [
    "ConversationState",
    "ConversationTracker",
    "DeduplicationResult",
    "InferenceConfig",
    "MultiTurnManager",
    "RAGPipeline",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("context", "dedup", "convrag_dedup.context:DedupContext")
    register("metrics", "dedup", "convrag_dedup.metrics:DedupMetrics")
    register("metrics", "prefix_reuse", "convrag_dedup.prefix_reuse:PrefixReuse")


def __getattr__(name: str) -> Any:
    if name not in _RAGBOOST_API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_RAGBOOST_API[name]}"), name)
