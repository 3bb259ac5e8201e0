"""Sends turns to a collector as OpenTelemetry's spans, in a thread."""

import logging
import threading
from collections.abc import Sequence
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from convrag.sdk.llm.streaming import mend_surrogates
from convrag.sdk.output.library_logs import limit_logs
from convrag.sdk.output.printable import count, make_printable
from convrag.sdk.output.spans import Row, clear_all
from convrag.sdk.secrets import redact, redact_address
from convrag_otlp.span_description import describe_span

log = logging.getLogger(__name__)


class Sender:
    """Sends turns to a collector in a thread, in batches; the first failure is one warning.

    Args:
        address: the collector's address, for messages.
        content: whether texts are sent.
    """

    def __init__(self, address: str, *, content: bool) -> None:
        # Without this, a traceback is logged for each batch that fails
        limit_logs(logging.CRITICAL, "opentelemetry")
        self.address = redact_address(address)
        self.content = content
        self._resource = Resource.create()  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
        if str(self._resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
            self._resource = self._resource.merge(Resource({SERVICE_NAME: "convrag"}))
        self._exporter = _CountingExporter(self.address)
        self._processor = BatchSpanProcessor(self._exporter)

    def add(self, rows: Sequence[Row], conversation: str, agent: str) -> None:
        """Let the spans of a turn be sent soon.

        Args:
            rows: the spans, as `TurnTrace.make` returns them.
            conversation: the conversation's id.
            agent: the name of the pipeline.
        """
        trace = uuid4().int
        contexts = [_make_context(trace, number) for number in range(1, len(rows) + 1)]
        for row, context in zip(rows, contexts, strict=True):
            parent = None if row["parent"] is None else contexts[row["parent"]]
            self._processor.on_end(self._make_span(row, context, parent, conversation, agent))

    def _make_span(
        self,
        row: Row,
        context: SpanContext,
        parent: SpanContext | None,
        conversation: str,
        agent: str,
    ) -> ReadableSpan:
        span = describe_span(clear_all(row, _clear), conversation, agent, with_content=self.content)
        events = []
        for name, fields in row["events"].items():
            events.append(Event(name, clear_all(fields, _clear), row["end"]))
        error = _clear(row["error"])
        return ReadableSpan(
            span.name,
            context,
            parent=parent,
            resource=self._resource,
            attributes=span.attributes,
            events=events,
            kind=span.kind,
            status=Status(StatusCode.ERROR, error) if error else Status(),
            start_time=row["start"],
            end_time=row["end"],
        )

    def flush(self, seconds: float) -> str | None:
        """Wait at most so many seconds until all is sent; say how many turns were."""
        # In a thread, since it has no time limit of its own
        sending = threading.Thread(target=self._processor.force_flush, daemon=True)
        sending.start()
        sending.join(seconds)
        sent = self._exporter.sent
        if not sent:
            return None
        return f"Sent {count(sent, 'trace')} to {self.address}."


class _CountingExporter(SpanExporter):  # type: ignore[misc]
    """OpenTelemetry's exporter, which also counts the traces that the collector has taken."""

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
            message = "tracker=otlp: %s has not taken the spans of turns, or not all of them"
            log.warning(message, self._address)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _make_context(trace: int, number: int) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(trace, number, is_remote=False, trace_flags=flags)


def _clear(text: str) -> str:
    """Remove secrets and what cannot be printed from a text."""
    return make_printable(mend_surrogates(redact(text)))
