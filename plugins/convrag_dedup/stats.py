"""Statistics of deduplication: of a turn, of conversations, and of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convrag import Report, TurnRecord
from convrag.sdk.files import encode_name
from convrag_dedup.deduplication import DeduplicatedTurn

if TYPE_CHECKING:
    from convrag.sdk.tasks.turns import Session


DOCUMENT_COUNTS = ("num_retrieved", "num_novel", "num_deduplicated")
TOKEN_COUNTS = ("tokens_saved", "tokens_sent_again")
_COUNTS = (*DOCUMENT_COUNTS, *TOKEN_COUNTS)
_TOTALS = ("total_retrieved", "total_novel", "total_deduplicated")


def deduplication_rate(deduplicated: int, retrieved: int) -> float:
    """The share of retrieved documents that became hints, from 0 to 1; 0 where nothing was retrieved."""
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
    """The sums of several conversations' statistics. The average rate is that of all documents, not a mean of rates."""
    counted = [*_TOTALS, *(name for name in TOKEN_COUNTS if all(name in stats for stats in conversations))]
    sums = {name: sum(stats[name] for stats in conversations) for name in counted}
    turns = sum(stats["turn_count"] for stats in conversations)
    return {
        "total_conversations": len(conversations),
        "total_turns": turns,
        **sums,
        "average_deduplication_rate": deduplication_rate(sums["total_deduplicated"], sums["total_retrieved"]),
        "average_turns_per_conversation": turns / len(conversations) if conversations else 0.0,
    }


class ConversationStats:
    """Keeps each conversation's statistics in its memory and, if conversations have a folder, on disk.

    A turn's line is written before the conversation is saved. So a process that is killed in between leaves a line for
    a turn that the conversation does not have: lines after the conversation's last turn are not read, and of two lines
    for one turn the later one counts. Call the methods with the conversation's lock held.

    Args:
        folder: that of the conversations; None keeps the statistics in memory alone.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / "deduplication"

    def add_turn(self, conversation: Session, stats: Mapping[str, Any]) -> dict[str, Any]:
        """Count a turn that is about to be added to the conversation; gives the statistics including it."""
        counts = {name: stats[name] for name in _COUNTS}
        sums = self._sums(conversation)
        turn = len(conversation.history) + 1
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._path(conversation.id).open("a", encoding="utf-8") as file:
                # the leading line end closes a line that a killed process left unfinished
                file.write(f"\n{json.dumps({'turn': turn} | counts)}\n")
        sums = {name: sums[name] + counts[name] for name in _COUNTS}
        conversation.stage_state[self] = {"turns": turn, "sums": sums}
        return conversation_stats(conversation.id, turn, sums)

    def read(self, conversation: Session) -> dict[str, Any]:
        """The statistics of a conversation."""
        return conversation_stats(conversation.id, len(conversation.history), self._sums(conversation))

    def reset(self, conversation_id: str) -> None:
        """Forget a conversation."""
        if self._folder is not None:
            self._path(conversation_id).unlink(missing_ok=True)

    def _sums(self, conversation: Session) -> Mapping[str, int]:
        turns = len(conversation.history)
        kept = conversation.stage_state.get(self)
        if kept is None or kept["turns"] != turns:
            lines = self._read_lines(conversation.id, turns)
            return {name: sum(line[name] for line in lines) for name in _COUNTS}
        sums: Mapping[str, int] = kept["sums"]
        return sums

    def _read_lines(self, conversation_id: str, turns: int) -> list[dict[str, Any]]:
        if self._folder is None or not self._path(conversation_id).is_file():
            return []
        found: dict[int, dict[str, Any]] = {}
        for text in self._path(conversation_id).read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:  # an unfinished line of a process that was killed: its turn was not saved
                continue
            if line["turn"] <= turns:
                found[line["turn"]] = line
        return list(found.values())

    def _path(self, conversation_id: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{encode_name(conversation_id)}.jsonl"


TITLE = "deduplication"
"""Of this report, and of what metrics=prefix_reuse adds to it."""

_REPORTED = (*DOCUMENT_COUNTS, "num_sent_again", *TOKEN_COUNTS)


def report_deduplication(records: Iterable[TurnRecord]) -> Report | None:
    """What context=dedup came to in a run: totals, and totals by the position of turns; None for another context."""
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
    return named | {"deduplication_rate": deduplication_rate(named["num_deduplicated"], named["num_retrieved"])}


def _report_lines(overall: Mapping[str, Any]) -> tuple[str, ...]:
    line = (
        f"Deduplication: {overall['num_deduplicated']} of {overall['num_retrieved']} passages "
        f"({overall['deduplication_rate']:.1%}) were shown as hints, {overall['num_sent_again']} earlier ones in full "
        f"again; {overall['tokens_saved']:,} tokens saved, {overall['tokens_sent_again']:,} sent again."
    )
    missing = overall["missing"]
    return (line, f"{missing} retrieved passages have no text, and were not shown.") if missing else (line,)
