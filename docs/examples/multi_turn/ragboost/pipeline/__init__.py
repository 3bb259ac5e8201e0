"""`from ragboost.pipeline import ...`."""

from convrag_dedup import ConversationState, InferenceConfig, MultiTurnManager, RAGPipeline

__all__ = ["ConversationState", "InferenceConfig", "MultiTurnManager", "RAGPipeline"]
