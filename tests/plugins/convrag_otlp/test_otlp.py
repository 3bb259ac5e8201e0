"""`tracker=otlp`: the spans of turns, read back from a collector on loopback."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from convrag.sdk.output.spans import make_span
from convrag.testing import TrackerContract
from llm_server import Server
from tasks import run_task

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

STAGES = ["memory", "rewriter", "retrieval", "reranker", "selector", "context", "generator"]


class Collector:
    """Takes what is sent to /v1/traces; `status` is what it answers."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.headers: list[dict[str, str]] = []
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                outer.headers.append(dict(self.headers))
                if outer.status == 200:
                    outer.take(trace_service.ExportTraceServiceRequest.FromString(body))
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request: Any) -> None:
        for resource in request.resource_spans:
            self.services |= {
                each.value.string_value
                for each in resource.resource.attributes
                if each.key == "service.name"
            }
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def traces(self) -> list[list[Any]]:
        """The spans by trace, each in the order of their ids."""
        by_trace: dict[bytes, list[Any]] = {}
        for span in sorted(self.spans, key=lambda span: (span.start_time_unix_nano, span.span_id)):
            by_trace.setdefault(span.trace_id, []).append(span)
        return [sorted(spans, key=lambda span: span.span_id) for spans in by_trace.values()]


def read_attributes(span: Any) -> dict[str, Any]:
    values = {}
    for each in span.attributes:
        kind = each.value.WhichOneof("value")
        value = getattr(each.value, kind)
        values[each.key] = (
            [item.string_value for item in value.values] if kind == "array_value" else value
        )
    return values


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in (
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_SERVICE_NAME",
        "OTEL_RESOURCE_ATTRIBUTES",
    ):
        monkeypatch.delenv(name, raising=False)
    collector = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=sesame-open")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


RUN = ("tracker=otlp", "limit=1", "generator=direct", "rewriter=last_n", "report=false")


def test_each_turn_of_a_run_is_a_trace_with_its_stages(
    tmp_path: Path, collector: Collector
) -> None:
    done = run_task([*RUN, "hydra.run.dir=run"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    traces = collector.traces()
    assert f"Sent {len(traces)} traces to {collector.address}." in done.stdout
    assert collector.services == {"convrag"}
    assert {headers["api-key"] for headers in collector.headers} == {"sesame-open"}
    assert "sesame-open" not in "".join(
        path.read_text() for path in (tmp_path / "run").rglob("*.*") if path.is_file()
    )
    for spans in traces:
        root, *others = spans
        assert (root.name, root.parent_span_id) == ("invoke_agent convrag", b"")
        stages = [span for span in others if span.parent_span_id == root.span_id]
        assert [span.name for span in stages] == STAGES
        assert all(root.start_time_unix_nano <= span.start_time_unix_nano for span in others)
        assert all(span.end_time_unix_nano <= root.end_time_unix_nano for span in others)
        told = read_attributes(root)
        assert (told["gen_ai.operation.name"], told["gen_ai.conversation.id"]) == (
            "invoke_agent",
            "moon-basics",
        )
        assert read_attributes(stages[2])["gen_ai.operation.name"] == "retrieval"
        texts = " ".join(str(value) for span in spans for value in read_attributes(span).values())
        assert "moon" not in texts.lower().replace("moon-basics", ""), (
            "texts are sent only where somebody asks for them"
        )


def test_calls_have_tokens_and_with_content_their_texts(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "handbook")
    with closing(Server("openai_compatible")) as server:
        llm = ("llm=openai_compatible", f"llm.api_base={server.address}", "llm.model=acme/tiny")
        done = run_task([*RUN, *llm, "tracker.content=true"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert collector.services == {"handbook"}
    spans = [span for spans in collector.traces() for span in spans]
    chats = [span for span in spans if span.kind == span.SPAN_KIND_CLIENT]
    assert chats
    names = {span.span_id: span.name for span in collector.traces()[0]}
    for chat in chats:
        told = read_attributes(chat)
        assert chat.name == f"chat {told['gen_ai.request.model']}"
        assert (told["gen_ai.operation.name"], told["gen_ai.usage.input_tokens"] > 0) == (
            "chat",
            True,
        )
        assert told["gen_ai.usage.output_tokens"] > 0
        assert '"role": "user"' in told["gen_ai.input.messages"]
        assert '"role": "assistant"' in told["gen_ai.output.messages"]
        assert names[chat.parent_span_id] == "generator"
    retrieval = read_attributes(next(span for span in spans if span.name == "retrieval"))
    assert "moon" in retrieval["gen_ai.retrieval.query.text"]
    assert '"score"' in retrieval["gen_ai.retrieval.documents"]


def test_a_collector_that_refuses_costs_one_warning_and_no_turn(
    tmp_path: Path, collector: Collector
) -> None:
    collector.status = 400
    done = run_task([*RUN, "hydra.run.dir=run"], tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("has not taken the spans of turns") == 1
    assert "Sent" not in done.stdout
    assert (tmp_path / "run/metrics.json").exists()


class TestContract(TrackerContract):
    def make(self) -> Any:
        from convrag_otlp.tracker import OtlpTracker

        return OtlpTracker()


def test_a_stage_that_failed_is_an_error(collector: Collector) -> None:
    from convrag_otlp.sending import Sender

    rows = [
        make_span(
            "turn",
            "CHAIN",
            1,
            9,
            {"question": "How far?"},
            {},
            {},
            parent=None,
            error="generator: no key",
        )
    ]
    sender = Sender(collector.address, content=False)
    sender.add(rows, "c", "convrag")
    assert sender.flush(10) == f"Sent 1 trace to {collector.address}."
    (span,) = collector.spans
    assert (span.status.code, span.status.message) == (
        span.status.STATUS_CODE_ERROR,
        "generator: no key",
    )
