"""Statistics of deduplication, for turns and for conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convrag_dedup.deduplication import DeduplicatedTurn

if TYPE_CHECKING:
    from convrag import Conversations
    from convrag.sdk.tasks.turns import Session


DOCUMENT_COUNTS = ("num_retrieved", "num_novel", "num_deduplicated")
TOKEN_COUNTS = ("tokens_saved", "tokens_sent_again")
_COUNTS = (*DOCUMENT_COUNTS, *TOKEN_COUNTS)
_TOTALS = ("total_retrieved", "total_novel", "total_deduplicated")


def deduplication_rate(deduplicated: int, retrieved: int) -> float:
    """Return the share of retrieved documents that became hints; 0 without any documents."""
    return deduplicated / retrieved if retrieved else 0.0


def turn_stats(turn: DeduplicatedTurn) -> dict[str, Any]:
    """Return the statistics of a turn under RAGBoost's names."""
    retrieved = len(turn.shown) + len(turn.missing)
    return {
        "num_retrieved": retrieved,
        "num_novel": len(turn.novel),
        "num_deduplicated": len(turn.hinted),
        "deduplication_rate": deduplication_rate(len(turn.hinted), retrieved),
    }


def conversation_stats(conversation_id: str, turns: int, sums: Mapping[str, int]) -> dict[str, Any]:
    """Return the statistics of a conversation under RAGBoost's names.

    Args:
        conversation_id: its name.
        turns: the number of its turns.
        sums: DOCUMENT_COUNTS summed over its turns, and TOKEN_COUNTS where tokens are counted.
    """
    retrieved = sums["num_retrieved"]
    deduplicated = sums["num_deduplicated"]
    tokens = {name: sums[name] for name in TOKEN_COUNTS if name in sums}
    return {
        "conversation_id": conversation_id,
        "turn_count": turns,
        "total_retrieved": retrieved,
        "total_novel": sums["num_novel"],
        "total_deduplicated": deduplicated,
        "deduplication_rate": deduplication_rate(deduplicated, retrieved),
        **tokens,
    }


def pooled_stats(conversations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of several conversations' statistics.

    The average rate is that of all documents together, not the mean of the rates.
    """
    token_counts = [name for name in TOKEN_COUNTS if all(name in stats for stats in conversations)]
    names = [*_TOTALS, *token_counts]
    sums = {name: sum(stats[name] for stats in conversations) for name in names}
    rate = deduplication_rate(sums["total_deduplicated"], sums["total_retrieved"])
    turns = sum(stats["turn_count"] for stats in conversations)
    return {
        "total_conversations": len(conversations),
        "total_turns": turns,
        **sums,
        "average_deduplication_rate": rate,
        "average_turns_per_conversation": turns / len(conversations) if conversations else 0.0,
    }


@dataclass(eq=False)
class ConversationStats:
    """The statistics of conversations. Call the methods with the conversation's lock held.

    The sums are kept with the conversation, and read from the records of its turns where another
    process added some.

    Args:
        conversations: where the records are.
    """

    conversations: Conversations

    def add_turn(self, conversation: Session, stats: Mapping[str, Any]) -> dict[str, Any]:
        """Count a turn that is about to be added to the conversation.

        Returns the statistics with it.
        """
        before = self._sums(conversation)
        turn = len(conversation.history) + 1
        sums = {name: before[name] + stats[name] for name in _COUNTS}
        conversation.stage_state[self] = {"turns": turn, "sums": sums}
        return conversation_stats(conversation.id, turn, sums)

    def read(self, conversation: Session) -> dict[str, Any]:
        """Return the statistics of a conversation."""
        return conversation_stats(
            conversation.id, len(conversation.history), self._sums(conversation)
        )

    def _sums(self, conversation: Session) -> Mapping[str, int]:
        counted = conversation.stage_state.get(self)
        if counted is not None and counted["turns"] == len(conversation.history):
            sums: Mapping[str, int] = counted["sums"]
            return sums
        records = self.conversations.records(conversation.id) if conversation.history else []
        traces = [record.trace["context"] for record in records]
        return {name: sum(trace[name] for trace in traces) for name in _COUNTS}
