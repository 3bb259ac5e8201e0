"""The numbers of each turn of a conversation, kept beside the conversation and never ahead of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from convrag.turn.session import Session
from convrag_dedup.deduplication import rate

COUNTED = ("num_retrieved", "num_novel", "num_deduplicated", "tokens_saved", "tokens_sent_again")


class Ledger:
    """Totals over the turns of a conversation, in its memory and, where conversations have a folder, on disk.

    A turn's line is written before the conversation is saved. So whoever is killed in between leaves a line for a turn
    that the conversation does not have: reading stops at the turns that it has, and a later line for the same turn
    counts instead. Call it with the conversation's lock held.

    Args:
        folder: that of the conversations; None keeps the totals in memory alone.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / "deduplication"

    def add(self, conversation: Session, stats: Mapping[str, Any]) -> dict[str, Any]:
        """Count a turn that is about to be added to the conversation; gives the totals including it."""
        line = {name: stats[name] for name in COUNTED}
        totals = self._totals(conversation)
        turn = len(conversation.history) + 1
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._path(conversation.id).open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps({'turn': turn} | line)}\n")  # a line of its own, behind a half one too
        conversation.stage_state[self] = {"turns": turn} | {name: totals[name] + line[name] for name in COUNTED}
        return self._described(conversation.id, conversation.stage_state[self])

    def stats(self, conversation: Session) -> dict[str, Any]:
        """The totals of a conversation."""
        return self._described(conversation.id, self._totals(conversation))

    def reset(self, conversation_id: str) -> None:
        """Forget a conversation."""
        if self._folder is not None:
            self._path(conversation_id).unlink(missing_ok=True)

    def _totals(self, conversation: Session) -> dict[str, Any]:
        kept = conversation.stage_state.get(self)
        if kept is None or kept["turns"] != len(conversation.history):
            lines = self._read(conversation.id, len(conversation.history))
            kept = {"turns": len(conversation.history)}
            kept |= {name: sum(line[name] for line in lines) for name in COUNTED}
        return kept

    def _read(self, conversation_id: str, turns: int) -> list[dict[str, Any]]:
        if self._folder is None or not self._path(conversation_id).is_file():
            return []
        found: dict[int, dict[str, Any]] = {}
        for text in self._path(conversation_id).read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:  # half a line, of a process that was killed: its turn was not saved
                continue
            if line["turn"] <= turns:
                found[line["turn"]] = line
        return list(found.values())

    def _path(self, conversation_id: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{quote(conversation_id, safe='')}.jsonl"

    def _described(self, conversation_id: str, totals: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "conversation_id": conversation_id,
            "turn_count": totals["turns"],
            "total_retrieved": totals["num_retrieved"],
            "total_novel": totals["num_novel"],
            "total_deduplicated": totals["num_deduplicated"],
            "deduplication_rate": rate(totals["num_deduplicated"], totals["num_retrieved"]),
            "tokens_saved": totals["tokens_saved"],
            "tokens_sent_again": totals["tokens_sent_again"],
        }
