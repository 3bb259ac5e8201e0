"""The calls of language models that a stage has made, as spans; and tokens and costs as MLflow counts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convrag_mlflow.span_data import SpanData

TOKENS, COST, MODEL = "mlflow.chat.tokenUsage", "mlflow.llm.cost", "mlflow.llm.model"
"""The attributes of a span from which MLflow counts."""


def make_call_spans(
    calls: Sequence[Mapping[str, Any]], usage: Mapping[str, float], start: int, end: int, *, parent: int
) -> Iterator[SpanData]:
    """Make a span for each call of a language model in a stage, in the order of the replies.

    How long a call took is known, and not when it began. They stand one after the other; all at the stage's beginning
    where they took longer together than the stage, which then has asked from several threads. A reply from the store
    takes no time.

    Args:
        calls: with the fields of `turn_notes`.
        usage: of the stage: tells whether its replies come from the store.
        start: of the stage, in nanoseconds since 1970.
        end: likewise.
        parent: the place of the stage's span in the turn's list.
    """
    stored = None if usage.get("calls") and usage.get("reused") else bool(usage.get("reused"))
    lengths = [0 if stored else min(round((call["seconds"] or 0.0) * 1e9), end - start) for call in calls]
    at_once = sum(lengths) > end - start
    begin = start
    for call, length in zip(calls, lengths, strict=True):
        tokens = describe_tokens(call)
        told = {"convrag.stored": stored, "convrag.retries": call["retries"], "convrag.seconds": call["seconds"]}
        yield SpanData(
            name=call["task"],
            type="CHAT_MODEL" if tokens else "TASK",  # rules count no tokens
            start=begin,
            end=begin + length,
            inputs={"messages": call["messages"]},
            outputs={"choices": [_format_choice(call)]},
            attributes={
                **tokens,
                **describe_cost(call["cost_usd"]),
                **({MODEL: call["model"]} if call["model"] else {}),
                **{name: value for name, value in told.items() if value is not None},
            },
            parent=parent,
        )
        begin = start if at_once else begin + length


def describe_tokens(usage: Mapping[str, float]) -> dict[str, dict[str, int]]:
    """The attribute with the tokens of a call, a stage or a turn; empty where no language model was asked."""
    prompt, completion = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    if not prompt + completion:
        return {}
    counts = {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}
    cached = int(usage.get("cached_tokens") or 0)
    return {TOKENS: counts | ({"cache_read_input_tokens": cached} if cached else {})}


def describe_cost(dollars: float | None) -> dict[str, dict[str, float]]:
    """The attribute with what calls cost in US dollars; empty where that is nothing, or not known."""
    return {COST: {"total_cost": float(dollars)}} if dollars else {}


def _format_choice(call: Mapping[str, Any]) -> dict[str, Any]:
    """The reply, in the form that MLflow's page shows as a chat."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": call["text"]}}
    return choice | ({"finish_reason": call["finish_reason"]} if call["finish_reason"] else {})
