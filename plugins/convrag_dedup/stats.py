"""Statistics of deduplication: of a turn, of conversations, of a run; and `metrics=dedup`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from convrag import LLM, Measurement, Metrics, Prompt, Report, TurnRecord
from convrag_dedup.deduplication import DeduplicatedTurn

if TYPE_CHECKING:
    from convrag import Conversations
    from convrag.sdk.tasks.turns import Session


DOCUMENT_COUNTS = ("num_retrieved", "num_novel", "num_deduplicated")
TOKEN_COUNTS = ("tokens_saved", "tokens_sent_again")
_COUNTS = (*DOCUMENT_COUNTS, *TOKEN_COUNTS)
_TOTALS = ("total_retrieved", "total_novel", "total_deduplicated")


def deduplication_rate(deduplicated: int, retrieved: int) -> float:
    """The share of retrieved documents that became hints, from 0 to 1; 0 where nothing was
    retrieved.
    """
    return deduplicated / retrieved if retrieved else 0.0


def turn_stats(turn: DeduplicatedTurn) -> dict[str, Any]:
    """The statistics of a turn under RAGBoost's names."""
    retrieved = len(turn.shown) + len(turn.missing)
    return {
        "num_retrieved": retrieved,
        "num_novel": len(turn.novel),
        "num_deduplicated": len(turn.hinted),
        "deduplication_rate": deduplication_rate(len(turn.hinted), retrieved),
    }


def conversation_stats(conversation_id: str, turns: int, sums: Mapping[str, int]) -> dict[str, Any]:
    """The statistics of a conversation under RAGBoost's names.

    Args:
        conversation_id: its name.
        turns: how many it has.
        sums: DOCUMENT_COUNTS summed over its turns, and TOKEN_COUNTS where tokens are counted.
    """
    return {
        "conversation_id": conversation_id,
        "turn_count": turns,
        **{total: sums[name] for total, name in zip(_TOTALS, DOCUMENT_COUNTS, strict=True)},
        "deduplication_rate": deduplication_rate(sums["num_deduplicated"], sums["num_retrieved"]),
        **{name: sums[name] for name in TOKEN_COUNTS if name in sums},
    }


def pooled_stats(conversations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of several conversations' statistics. The average rate is over all documents, no
    mean of rates.
    """
    counted = [
        *_TOTALS,
        *(name for name in TOKEN_COUNTS if all(name in stats for stats in conversations)),
    ]
    sums = {name: sum(stats[name] for stats in conversations) for name in counted}
    turns = sum(stats["turn_count"] for stats in conversations)
    return {
        "total_conversations": len(conversations),
        "total_turns": turns,
        **sums,
        "average_deduplication_rate": deduplication_rate(
            sums["total_deduplicated"], sums["total_retrieved"]
        ),
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
        """Count a turn that is about to be added to the conversation; gives the statistics
        including it.
        """
        before, turn = self._sums(conversation), len(conversation.history) + 1
        sums = {name: before[name] + stats[name] for name in _COUNTS}
        conversation.stage_state[self] = {"turns": turn, "sums": sums}
        return conversation_stats(conversation.id, turn, sums)

    def read(self, conversation: Session) -> dict[str, Any]:
        """The statistics of a conversation."""
        return conversation_stats(
            conversation.id, len(conversation.history), self._sums(conversation)
        )

    def _sums(self, conversation: Session) -> Mapping[str, int]:
        kept = conversation.stage_state.get(self)
        if kept is None or kept["turns"] != len(conversation.history):
            records = self.conversations.records(conversation.id) if conversation.history else []
            kept = {
                "sums": {
                    name: sum(record.trace["context"][name] for record in records)
                    for name in _COUNTS
                }
            }
        sums: Mapping[str, int] = kept["sums"]
        return sums


TITLE = "deduplication"
"""Of this report, and of what metrics=prefix_reuse adds to it."""

_REPORTED = (*DOCUMENT_COUNTS, "num_sent_again", *TOKEN_COUNTS)


def report_deduplication(records: Iterable[TurnRecord]) -> Report | None:
    """What context=dedup came to in a run: totals, and totals by the position of turns; None for
    another context.
    """
    by_turn: dict[int, Counter[str]] = {}
    for record in records:
        trace = record.trace.get("context", {})
        if "num_deduplicated" in trace:
            counter = by_turn.setdefault(record.number, Counter())
            counter.update({name: trace[name] for name in _REPORTED})
            counter.update(turns=1, missing=len(trace["missing"]))
    if not by_turn:
        return None
    sums: Counter[str] = Counter()
    for counter in by_turn.values():
        sums.update(counter)
    overall = _add_rate(sums)
    turns = {str(number): _add_rate(by_turn[number]) for number in sorted(by_turn)}
    return Report(TITLE, _report_lines(overall), {"overall": overall, "by_turn": turns})


def _add_rate(counts: Mapping[str, int]) -> dict[str, Any]:
    named = {name: counts.get(name, 0) for name in ("turns", *_REPORTED, "missing")}
    return named | {
        "deduplication_rate": deduplication_rate(named["num_deduplicated"], named["num_retrieved"])
    }


def _report_lines(overall: Mapping[str, Any]) -> tuple[str, ...]:
    line = (
        f"Deduplication: {overall['num_deduplicated']} of {overall['num_retrieved']} passages "
        f"({overall['deduplication_rate']:.1%}) were shown as hints, {overall['num_sent_again']} earlier ones in full "
        f"again; {overall['tokens_saved']:,} tokens saved, {overall['tokens_sent_again']:,} sent again."
    )
    missing = overall["missing"]
    return (
        (line, f"{missing} retrieved passages have no text, and were not shown.")
        if missing
        else (line,)
    )


class DedupMetrics(Metrics):
    """How many passages a turn shows as hints, and how many tokens that saved.

    Read from the evidence, so that context=full can be measured as well, with no hint. Overall
    figures are means over turns; the rate of all passages together stands in the run's report.
    """

    def list_measures(self) -> Sequence[str]:
        return (
            "num_retrieved",
            "num_novel",
            "num_deduplicated",
            "deduplication_rate",
            *TOKEN_COUNTS,
        )

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """Turns without evidence are left out, since they had nothing to save."""
        values = {
            record.turn_id: _measure_turn(record) for record in records if record.evidence.items
        }
        return Measurement(values, report=report_deduplication(records))


def _measure_turn(record: TurnRecord) -> dict[str, float]:
    trace = record.trace.get("context", {})
    hinted = sum(item.hint for item in record.evidence.items)
    retrieved = len(record.evidence.items) + len(trace.get("missing", ()))
    return {
        "num_retrieved": float(retrieved),
        "num_novel": float(len(record.evidence.items) - hinted),
        "num_deduplicated": float(hinted),
        "deduplication_rate": deduplication_rate(hinted, retrieved),
    } | {name: float(trace.get(name, 0)) for name in TOKEN_COUNTS}


_PIECE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")

Trie = dict[str, Any]
"""Sequences as paths from the root: a piece -> the trie of what follows it."""


class PromptTokens(NamedTuple):
    """How many tokens prompts have, and how many of them belong to a prefix sent before."""

    total: float
    reused: float


class PrefixReuse(Metrics):
    """The share of prompt tokens that a prefix cache could serve, measured on the requests that were really sent.

    All requests of a conversation go into a trie of words, punctuation and the borders of messages,
    which gives the longest prefix that an earlier request of the conversation has. The llm counts
    the tokens of that prefix and of the whole. The trie holds words, since a stage does not know
    the tokens, only their number: a real cache ends within a word at most once per request, and
    works in blocks (vLLM: 16 tokens). What conversations have in common (the system prompt) counts
    from a conversation's second request on. Turns that sent nothing are left out.

    Args:
        llm: counts the tokens.
        tasks: only the requests of these tasks ("answer", "rewrite"); empty counts all.
    """

    def __init__(self, *, llm: LLM, tasks: list[str] = []) -> None:  # noqa: B006 - read only
        self.llm = llm
        self.tasks = list(tasks)

    def list_measures(self) -> Sequence[str]:
        return ("prefix_reuse", "prompt_tokens")

    def measure(self, records: Iterable[TurnRecord]) -> Measurement:
        """The turns whose records hold their requests; conversations come one by one."""
        trie: Trie = {}
        conversation = ""
        values: dict[str, dict[str, float]] = {}
        sums: dict[str, PromptTokens] = {}
        for record in records:
            if record.conversation_id != conversation:
                trie, conversation = {}, record.conversation_id
            if counted := self._count_turn(record, trie):
                share = counted.reused / counted.total
                values[record.turn_id] = {"prefix_reuse": share, "prompt_tokens": counted.total}
                before = sums.get(conversation, PromptTokens(0.0, 0.0))
                sums[conversation] = PromptTokens(
                    before.total + counted.total, before.reused + counted.reused
                )
        return Measurement(values, report=_report(sums))

    def _count_turn(self, record: TurnRecord, trie: Trie) -> PromptTokens | None:
        """The tokens of a turn's requests, which go into the conversation's trie; None if the turn
        sent nothing.
        """
        prompts = [
            prompt for prompt, _ in record.replies if not self.tasks or prompt.task in self.tasks
        ]
        counted = [self._count_request(prompt, trie) for prompt in prompts]
        total, reused = (
            sum(tokens.total for tokens in counted),
            sum(tokens.reused for tokens in counted),
        )
        return PromptTokens(total, reused) if total else None

    def _count_request(self, prompt: Prompt, trie: Trie) -> PromptTokens:
        """The tokens of a request, counted message by message; the last message of the prefix is
        counted in part.
        """
        messages = [list(_split_message(role, content)) for role, content in prompt.messages]
        left = add_sequence(trie, (piece for pieces in messages for piece in pieces))
        total = reused = 0
        for pieces, message in zip(messages, prompt.messages, strict=True):
            whole = self.llm.count_tokens(message.content)
            total += whole
            if left >= len(pieces):
                reused += whole
            elif left > 0:
                reused += min(self.llm.count_tokens("".join(pieces[1:left])), whole)
            left = max(left - len(pieces), 0)
        return PromptTokens(float(total), float(reused))


def _report(conversations: Mapping[str, PromptTokens]) -> Report | None:
    """The share of all prompt tokens together, and of each conversation's."""
    if not (total := sum(tokens.total for tokens in conversations.values())):
        return None
    share = sum(tokens.reused for tokens in conversations.values()) / total
    shares = {
        name: round(tokens.reused / tokens.total, 4) for name, tokens in conversations.items()
    }
    line = f"Prefix reuse: {share:.1%} of {total:,.0f} prompt tokens began as an earlier request of the conversation."
    numbers = {"overall": share, "prompt_tokens": total, "by_conversation": shares}
    return Report(TITLE, (line,), {"prefix_reuse": numbers})


def _split_message(role: str, content: str) -> Iterator[str]:
    """A message's role, then its words and punctuation, each with the space before it: joined, they
    are the content.
    """
    yield f"<|{role}|>"
    yield from _PIECE.findall(content)


def add_sequence(trie: Trie, pieces: Iterable[str]) -> int:
    """Add a sequence to a trie; gives the length of its longest prefix that an earlier sequence
    begins with.
    """
    shared = 0
    known = True
    for piece in pieces:
        known = known and piece in trie
        shared += known
        trie = trie.setdefault(piece, {})
    return shared
