"""A turn as a trace: plain data of what MLflow's page shows of it, made of what was noted while the turn ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from convrag_mlflow.call_spans import COST, TOKENS, describe_cost, describe_tokens
from convrag_mlflow.span_data import Passages, SpanData
from convrag_mlflow.stage_spans import Exchange, describe_result, make_stage_spans
from convrag_mlflow.turn_notes import Row


@dataclass(frozen=True)
class TurnData:
    """A turn as a trace.

    Args:
        conversation: the conversation's id.
        turn: the turn's id, unique in its run.
        attempt: counts from 0.
        number: of the turn in its conversation, from 1.
        question: what the user said.
        answer: what was answered.
        error: the stage that failed, and why; empty if none did.
        fallbacks: the stages that fell back.
        tokens: of all calls of language models, as MLflow counts them; empty where none was asked.
        cost: of them in US dollars, when they were made; empty where none is known.
        spans: the root, then each stage with the calls that it made; `SpanData.parent` is a place in this list.
    """

    conversation: str
    turn: str
    attempt: int
    number: int
    question: str
    answer: str
    error: str
    fallbacks: tuple[str, ...]
    tokens: Mapping[str, int]
    cost: Mapping[str, float]
    spans: list[SpanData]


def make_turns(rows: Iterable[Row], config: Mapping[str, Any]) -> Iterator[TurnData]:
    """Make the traces of a run's turns.

    Args:
        rows: of the turns, whole conversations in order.
        config: of the run: the options of the stages, and which history a turn sees.
    """
    conversation, history = "", list[Exchange]()
    shown = {"none": "", "gold": "reference"}.get(str(config.get("history")), "agent_response")
    for row in rows:
        record = row["record"]
        if record["conversation_id"] != conversation:
            conversation, history = record["conversation_id"], []
        yield make_turn(row, tuple(history) if shown else None, config)
        history.append({"question": record["original_query"], "answer": record[shown] if shown else ""})


def make_turn(row: Row, history: tuple[Exchange, ...] | None, config: Mapping[str, Any]) -> TurnData:
    """Make the trace of one turn.

    Args:
        row: of the turn.
        history: the turns before, as this one sees them; None where it sees none.
        config: the options of the stages.
    """
    record = row["record"]
    passages = Passages(record)
    stages = make_stage_spans(row, passages, history, config)
    usage = _add_up(record["usage"].values())
    told = {
        "convrag.conversation": record["conversation_id"],
        "convrag.turn": record["turn_id"],
        "convrag.number": record["turn"],
        "convrag.domain": record["domain"],
        "convrag.models": sorted({reply["model"] for reply in row["replies"] if reply["model"]}),
        "convrag.profile": record.get("profile"),
        "convrag.fallbacks": record["fallbacks"],
        "convrag.labels": record["labels"],
        "convrag.reference": record["reference"],
        "convrag.relevant": record["gold"],
    }
    root = SpanData(
        name="turn",
        type="CHAIN",
        start=row.get("start") or stages[0].start,
        end=row.get("end") or max(stage.end for stage in stages),
        inputs={"question": record["original_query"]},
        outputs=describe_result(record, passages),
        attributes={name: value for name, value in told.items() if value},
        error=record["error"],
    )
    return TurnData(
        conversation=record["conversation_id"],
        turn=record["turn_id"],
        attempt=record["attempt"],
        number=record["turn"],
        question=record["original_query"],
        answer=record["agent_response"],
        error=record["error"],
        fallbacks=tuple(record["fallbacks"]),
        tokens=describe_tokens(usage).get(TOKENS, {}),
        cost=describe_cost(usage.get("cost_usd")).get(COST, {}),
        spans=[root, *stages],
    )


def _add_up(usages: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + (value or 0)
    return total
