"""The name, kind and attributes of spans, by OpenTelemetry's conventions for generative AI."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opentelemetry.trace import SpanKind

from convrag.sdk.output.spans import Row

_CONTENT = {"inputs", "outputs", "convrag.trace", "convrag.reference", "convrag.profile"}
"""Attributes of a row with texts that people and models wrote."""

Attributes = dict[str, Any]


class SpanDescription(NamedTuple):
    """The name, the kind and the attributes of a span."""

    name: str
    kind: SpanKind
    attributes: Attributes


def describe_span(
    row: Row, conversation: str, agent: str, *, with_content: bool
) -> SpanDescription:
    """Describe a span by the conventions for generative AI.

    Args:
        row: the span as plain data.
        conversation: the conversation's id.
        agent: the name of the pipeline.
        with_content: whether texts are among the attributes.
    """
    given: Mapping[str, Any] = row["attributes"]
    name = row["name"]
    kind = SpanKind.INTERNAL
    attributes: Attributes = {"gen_ai.conversation.id": conversation}
    if row["parent"] is None:
        name = f"invoke_agent {agent}"
        attributes["gen_ai.operation.name"] = "invoke_agent"
        attributes["gen_ai.agent.name"] = agent
    elif given["kind"] == "CHAT_MODEL":
        name = f"chat {given.get('model', '')}".strip()
        kind = SpanKind.CLIENT
        attributes |= _describe_call(row["name"], given)
    elif given["kind"] == "RETRIEVER":
        name = "retrieval"
        attributes["gen_ai.operation.name"] = "retrieval"
    attributes |= _describe_tokens(given.get("tokens") or {})
    attributes["convrag.cost_usd"] = given.get("cost", {}).get("total_cost")
    if row["error"]:
        attributes["error.type"] = "_OTHER"
    for key, value in given.items():
        if key.startswith("convrag.") and key not in _CONTENT:
            attributes[key] = _flatten(value)
    if with_content:
        attributes |= _describe_content(row, given)
    attributes = {key: value for key, value in attributes.items() if value not in (None, "", [""])}
    return SpanDescription(name, kind, attributes)


def _describe_call(task: str, given: Mapping[str, Any]) -> Attributes:
    """Describe a call of a language model."""
    model = given.get("model", "")
    outputs = given.get("outputs") or {}
    reasons = [each.get("finish_reason", "") for each in outputs.get("choices", ())]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.rpartition("/")[0] or "unknown",
        "gen_ai.request.model": model,
        "gen_ai.response.model": model,
        "gen_ai.response.finish_reasons": reasons,
        "convrag.task": task,
    }


def _describe_tokens(tokens: Mapping[str, Any]) -> Attributes:
    if not tokens:
        return {}
    return {
        "gen_ai.usage.input_tokens": tokens["input_tokens"],
        "gen_ai.usage.output_tokens": tokens["output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": tokens.get("cache_read_input_tokens"),
    }


def _describe_content(row: Row, given: Mapping[str, Any]) -> Attributes:
    """Describe the texts of a span."""
    inputs = given.get("inputs") or {}
    outputs = given.get("outputs") or {}
    attributes: Attributes = {}
    for key in _CONTENT - {"inputs", "outputs"}:
        if key in given:
            attributes[key] = _flatten(given[key])
    if row["parent"] is None:
        asked = [("user", inputs["question"])]
        replied = [("assistant", outputs.get("answer", ""))]
        return attributes | _describe_messages(asked, replied)
    if given["kind"] == "CHAT_MODEL":
        asked = [(each["role"], each["content"]) for each in inputs["messages"]]
        replied = [("assistant", each["message"]["content"]) for each in outputs["choices"]]
        return attributes | _describe_messages(asked, replied)
    if given["kind"] == "RETRIEVER":
        queries = [each["text"] for each in inputs.get("queries", ())]
        documents = [
            {"id": each["id"], "score": each["metadata"]["score"]} for each in outputs or ()
        ]
        attributes["gen_ai.retrieval.query.text"] = "\n".join(queries)
        attributes["gen_ai.retrieval.documents"] = json.dumps(documents)
    attributes["convrag.inputs"] = _flatten(inputs)
    attributes["convrag.outputs"] = _flatten(outputs)
    return attributes


def _describe_messages(
    asked: Sequence[tuple[str, str]], replied: Sequence[tuple[str, str]]
) -> Attributes:
    return {
        "gen_ai.input.messages": _format_messages(asked),
        "gen_ai.output.messages": _format_messages(replied),
    }


def _format_messages(messages: Sequence[tuple[str, str]]) -> str:
    rows = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return json.dumps(rows, ensure_ascii=False)


def _flatten(value: Any) -> Any:
    """Return a value that an attribute may have: a text, a number, a truth value, or JSON."""
    if isinstance(value, str | bool | int | float):
        return value
    return json.dumps(value, ensure_ascii=False)
