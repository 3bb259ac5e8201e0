"""RAGBoost's context deduplication across turns, where a hint points at text that the model has (seed: RAGBoost)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag import Register, hookimpl
from convrag_dedup.context import DedupContext
from convrag_dedup.measures import DedupMetrics
from convrag_dedup.metrics import convrag_report
from convrag_dedup.prefix_reuse import PrefixReuse, convrag_run_finished, convrag_run_started, convrag_turn_finished

if TYPE_CHECKING:
    from convrag_dedup.conversation_state import ConversationState
    from convrag_dedup.conversation_tracker import ConversationTracker, DeduplicationResult
    from convrag_dedup.inference_config import InferenceConfig
    from convrag_dedup.multi_turn import MultiTurnManager
    from convrag_dedup.rag_pipeline import RAGPipeline

# The seed's classes, which no option needs, are imported when somebody asks for them.
_SEED = {
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
    "DedupContext",
    "DedupMetrics",
    "DeduplicationResult",
    "InferenceConfig",
    "MultiTurnManager",
    "PrefixReuse",
    "RAGPipeline",
    "convrag_report",
    "convrag_run_finished",
    "convrag_run_started",
    "convrag_turn_finished",
]


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("context", "dedup", DedupContext)
    register("metrics", "dedup", DedupMetrics)
    register("metrics", "prefix_reuse", PrefixReuse)


def __getattr__(name: str) -> Any:
    if name not in _SEED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_SEED[name]}"), name)
