"""RAGBoost's context deduplication: passages that the conversation has already shown become hints.

* `context`: `context=dedup`, and where a passage stands in the messages.
* `deduplication`: the core: which documents of a turn are novel, hinted at or missing.
* `shown_passages`: which passages a conversation has shown, and their near-duplicates.
* `stats`: statistics of turns and conversations.
* `dedup_metrics`: `metrics=dedup`, and the report of a run.
* `prefix_reuse`: `metrics=prefix_reuse`.
* `multi_turn`, `rag_pipeline`, `conversation_tracker`: RAGBoost's API over the same code.
* `turn_arguments`: the arguments of a turn of `RAGPipeline`, checked.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from convrag import Register, hookimpl

if TYPE_CHECKING:
    from convrag_dedup.conversation_tracker import ConversationTracker, DeduplicationResult
    from convrag_dedup.multi_turn import ConversationState, MultiTurnManager
    from convrag_dedup.rag_pipeline import InferenceConfig, RAGPipeline

_RAGBOOST_API = ("multi_turn", "rag_pipeline", "conversation_tracker")
"""The modules of RAGBoost's classes, which no option needs: they are imported on first access."""

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
    register(
        "context",
        "dedup",
        "convrag_dedup.context:DedupContext",
        "Show new passages in full, and passages that the messages already have as hints "
        "(RAGBoost).",
    )
    register(
        "metrics",
        "dedup",
        "convrag_dedup.dedup_metrics:DedupMetrics",
        "How many passages a turn shows as hints, and how many tokens that saved.",
    )
    register(
        "metrics",
        "prefix_reuse",
        "convrag_dedup.prefix_reuse:PrefixReuse",
        "The share of prompt tokens that a prefix cache could serve, in the requests that"
        " were sent.",
    )


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = (import_module(f"{__name__}.{module}") for module in _RAGBOOST_API)
    return next(getattr(module, name) for module in modules if hasattr(module, name))
