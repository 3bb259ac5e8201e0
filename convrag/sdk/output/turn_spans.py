"""A turn as spans: the turn, its stages, and the calls of language models that they made."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from convrag.api.conversations import Question
from convrag.api.records import TurnRecord
from convrag.sdk.output.spans import Row, make_span
from convrag.sdk.output.stage_spans import (
    EndedStage,
    Exchange,
    describe_result,
    make_stage_spans,
)


class TurnTrace:
    """One turn while it runs, and as spans when it has ended.

    A tracker makes one when a turn starts, tells it of each stage, and takes its spans when the
    turn has ended.

    Args:
        config: of the run or of the pipeline: the options of the stages, and which history a turn
            sees.
        question: with the history that the turn sees.
    """

    def __init__(self, config: Mapping[str, Any], question: Question) -> None:
        self.config = config
        self._history: Sequence[Exchange] = [
            {"question": turn.question, "answer": turn.answer} for turn in question.history
        ]
        self._start = time.time_ns()
        self._end = 0
        self._stages: list[EndedStage] = []

    def end_stage(self, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended."""
        ranking = record.hits if stage == "retriever" else ()
        self._stages.append(EndedStage(stage, time.time_ns(), len(record.replies), ranking))

    def end(self) -> None:
        """Note that the turn has ended."""
        self._end = time.time_ns()

    def make(self, record: TurnRecord) -> list[Row]:
        """Make the spans: the turn's own first, then its stages, each followed by its calls."""
        root = make_span(
            "turn",
            "CHAIN",
            self._start,
            self._end,
            {"question": record.original_query},
            describe_result(record),
            _describe_turn(record),
            parent=None,
            error=record.error,
        )
        history = None if self.config.get("history") == "none" else self._history
        return [root, *make_stage_spans(record, self._stages, self._start, history, self.config)]


def _describe_turn(record: TurnRecord) -> Row:
    """Return the attributes of a turn's own span, without those that are empty."""
    row = record.to_dict()
    attributes = {
        "convrag.conversation": record.conversation_id,
        "convrag.turn": record.turn_id,
        "convrag.number": record.number,
        "convrag.domain": record.domain,
        "convrag.models": sorted({reply.model for _, reply in record.replies if reply.model}),
        "convrag.profile": row.get("profile"),
        "convrag.fallbacks": row["fallbacks"],
        "convrag.labels": row["labels"],
        "convrag.reference": record.reference,
        "convrag.relevant": row["gold"],
    }
    return {name: value for name, value in attributes.items() if value}
