"""Turns as OpenTelemetry's spans, and the thread that sends them."""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from convrag.sdk.llm.streaming import mend_surrogates
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.output.printable import count, make_printable
from convrag.sdk.output.spans import Row, clear_all
from convrag.sdk.secrets import redact, redact_address

log = logging.getLogger(__name__)

_CONTENT = {"inputs", "outputs", "convrag.trace", "convrag.reference", "convrag.profile"}
"""Attributes of a row that hold what people and models wrote."""


class Sender:
    """Sends turns to a collector in a thread, in batches; the first failure is one warning.

    Args:
        address: of the collector, for messages.
        content: whether texts are sent.
    """

    def __init__(self, address: str, *, content: bool) -> None:
        limit_logs(
            logging.CRITICAL, "opentelemetry"
        )  # a line with a traceback for each batch that fails
        self.address = redact_address(address)
        self.content = content
        self._resource = Resource.create()  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
        if str(self._resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
            self._resource = self._resource.merge(Resource({SERVICE_NAME: "convrag"}))
        self._exporter = _CountingExporter(self.address)
        self._processor = BatchSpanProcessor(self._exporter)

    def add(self, rows: Sequence[Row], conversation: str, agent: str) -> None:
        """Have the spans of a turn sent soon.

        Args:
            rows: as `TurnTrace.make` gives them.
            conversation: its id.
            agent: the name of the pipeline.
        """
        trace = uuid4().int
        contexts = [
            SpanContext(trace, place, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
            for place, _ in enumerate(rows, 1)
        ]
        for row, context in zip(rows, contexts, strict=True):
            name, kind, attributes = describe_span(
                clear_all(row, _clear), conversation, agent, content=self.content
            )
            error = _clear(row["error"])
            self._processor.on_end(
                ReadableSpan(
                    name,
                    context,
                    parent=None if row["parent"] is None else contexts[row["parent"]],
                    resource=self._resource,
                    attributes=attributes,
                    events=[
                        Event(each, clear_all(told, _clear), row["end"])
                        for each, told in row["events"].items()
                    ],
                    kind=kind,
                    status=Status(StatusCode.ERROR, error) if error else Status(),
                    start_time=row["start"],
                    end_time=row["end"],
                )
            )

    def flush(self, seconds: float) -> str | None:
        """Wait at most so many seconds until all is sent; say how many turns were."""
        sending = threading.Thread(
            target=self._processor.force_flush, daemon=True
        )  # it knows no limit of its own
        sending.start()
        sending.join(seconds)
        sent = self._exporter.sent
        return f"Sent {count(sent, 'trace')} to {self.address}." if sent else None


class _CountingExporter(SpanExporter):  # type: ignore[misc]
    """OpenTelemetry's exporter, with a count of the traces that the collector has taken."""

    def __init__(self, address: str) -> None:
        self.sent = 0
        self._address = address
        self._exporter = OTLPSpanExporter()
        self._warned = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += sum(span.parent is None for span in spans)
        elif not self._warned:
            self._warned = True
            log.warning(
                "tracker=otlp: %s has not taken the spans of turns, or not all of them",
                self._address,
            )
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def describe_span(
    row: Row, conversation: str, agent: str, *, content: bool
) -> tuple[str, SpanKind, dict[str, Any]]:
    """The name, the kind and the attributes of a span, by the conventions for generative AI.

    Args:
        row: a span as plain data.
        conversation: its id.
        agent: the name of the pipeline.
        content: whether texts are among the attributes.
    """
    given: Mapping[str, Any] = row["attributes"]
    name, kind = row["name"], SpanKind.INTERNAL
    told: dict[str, Any] = {"gen_ai.conversation.id": conversation}
    if row["parent"] is None:
        name = f"invoke_agent {agent}"
        told |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent}
    elif given["kind"] == "CHAT_MODEL":
        model, outputs = given.get("model", ""), given.get("outputs") or {}
        name, kind = f"chat {model}".strip(), SpanKind.CLIENT
        told |= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": model.rpartition("/")[0] or "unknown",
        }
        told |= {
            "gen_ai.request.model": model,
            "gen_ai.response.model": model,
            "convrag.task": row["name"],
        }
        ends = [each.get("finish_reason", "") for each in outputs.get("choices", ())]
        told["gen_ai.response.finish_reasons"] = ends
    elif given["kind"] == "RETRIEVER":
        name = told["gen_ai.operation.name"] = "retrieval"
    if tokens := given.get("tokens"):
        told |= {f"gen_ai.usage.{each}": tokens[each] for each in ("input_tokens", "output_tokens")}
        told |= {"gen_ai.usage.cache_read.input_tokens": tokens.get("cache_read_input_tokens")}
    told |= {
        "convrag.cost_usd": given.get("cost", {}).get("total_cost"),
        "error.type": row["error"] and "_OTHER",
    }
    told |= {
        key: _flatten(value)
        for key, value in given.items()
        if key.startswith("convrag.") and key not in _CONTENT
    }
    if content:
        told |= _describe_content(row, given)
    return name, kind, {key: value for key, value in told.items() if value not in (None, "", [""])}


def _describe_content(row: Row, given: Mapping[str, Any]) -> dict[str, Any]:
    inputs, outputs = given.get("inputs") or {}, given.get("outputs") or {}
    told = {key: _flatten(given[key]) for key in _CONTENT & given.keys() - {"inputs", "outputs"}}
    if row["parent"] is None:
        asked, said = [("user", inputs["question"])], [("assistant", outputs.get("answer", ""))]
    elif given["kind"] == "CHAT_MODEL":
        asked = [(each["role"], each["content"]) for each in inputs["messages"]]
        said = [("assistant", each["message"]["content"]) for each in outputs["choices"]]
    else:
        if given["kind"] == "RETRIEVER":
            found = [
                {"id": each["id"], "score": each["metadata"]["score"]} for each in outputs or ()
            ]
            told |= {
                "gen_ai.retrieval.query.text": "\n".join(
                    each["text"] for each in inputs.get("queries", ())
                )
            }
            told |= {"gen_ai.retrieval.documents": json.dumps(found)}
        return told | {"convrag.inputs": _flatten(inputs), "convrag.outputs": _flatten(outputs)}
    return told | {
        "gen_ai.input.messages": _format_messages(asked),
        "gen_ai.output.messages": _format_messages(said),
    }


def _format_messages(messages: Sequence[tuple[str, str]]) -> str:
    rows = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return json.dumps(rows, ensure_ascii=False)


def _flatten(value: Any) -> Any:
    """What an attribute may hold: a text, a number or a truth value; anything else as JSON."""
    return (
        value
        if isinstance(value, str | bool | int | float)
        else json.dumps(value, ensure_ascii=False)
    )


def _clear(text: str) -> str:
    return make_printable(mend_surrogates(redact(text)))
