"""`from ragboost.pipeline.multi_turn import ...`."""

from convrag_dedup import ConversationState, MultiTurnManager

__all__ = ["ConversationState", "MultiTurnManager"]
