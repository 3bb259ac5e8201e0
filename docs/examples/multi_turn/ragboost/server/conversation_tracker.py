"""`from ragboost.server.conversation_tracker import ...`."""

from convrag_dedup import ConversationTracker, DeduplicationResult

__all__ = ["ConversationTracker", "DeduplicationResult"]
