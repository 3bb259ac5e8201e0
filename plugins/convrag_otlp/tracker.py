"""`tracker=otlp`: the events at which a turn is noted, and its spans are sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from convrag import Question, Run, RunSummary, Tracker, TurnRecord, hookimpl
from convrag.sdk.output.turn_spans import TurnTrace

if TYPE_CHECKING:
    from convrag_otlp.sending import Sender

ADDRESS_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The environment variables that name the collector, the first one that is set."""

_DEFAULT_ADDRESS = "http://localhost:4318"


class OtlpTracker(Tracker):
    """Send each turn of runs, chats and servers to a collector of OpenTelemetry, by OTLP over HTTP.

        OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 python -m convrag task=serve tracker=otlp

    A turn is a trace: `invoke_agent convrag`, below it its stages (the retriever's is `retrieval`),
    and below those the calls of language models (`chat MODEL`), with OpenTelemetry's names for
    models, tokens and conversations. Address, headers, timeouts and the service's name come from
    OpenTelemetry's variables (OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and the like). Spans
    are sent in a thread; a collector that does not answer costs one warning and the spans. Source:
    OpenTelemetry's semantic conventions for generative AI, 1.41.

    Args:
        content: whether questions, prompts, passages and answers are sent, too. The conventions
            leave them out unless somebody asks for them: they may be personal.
        traces: whether turns are sent; `false` sends nothing.
    """

    requires: ClassVar[Mapping[str, str]] = {
        "opentelemetry.exporter.otlp.proto.http": "convrag[otlp]"
    }

    def __init__(self, *, content: bool = False, traces: bool = True) -> None:
        self.content = content
        self.traces = traces
        self._running: dict[int, tuple[TurnTrace, str]] = {}

    @cached_property
    def _sender(self) -> Sender:
        from convrag_otlp.sending import Sender

        address = _DEFAULT_ADDRESS
        for variable in reversed(ADDRESS_VARIABLES):
            address = os.environ.get(variable) or address
        return Sender(address, content=self.content)

    @hookimpl
    def convrag_turn_started(
        self, question: Question, config: Mapping[str, Any], model: str
    ) -> None:
        """Begin to note a turn."""
        if self.traces:
            self._running[id(question)] = TurnTrace(config, question), model or "convrag"

    @hookimpl
    def convrag_stage_finished(self, question: Question, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended."""
        if id(question) in self._running:
            self._running[id(question)][0].end_stage(stage, record)

    @hookimpl
    def convrag_turn_ended(self, question: Question, record: TurnRecord) -> None:
        """Hand the turn to the thread that sends."""
        running = self._running.pop(id(question), None)
        if running is None:
            return
        turn, agent = running
        turn.end()
        self._sender.add(turn.make(record), record.conversation_id, agent)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Wait until the turns are sent."""
        return self.convrag_conversations_ended(30.0)

    @hookimpl
    def convrag_run_failed(self, run: Run, error: str, interrupted: bool) -> None:
        """Send what there is; an interrupted process ends at once."""
        self.convrag_conversations_ended(1.0 if interrupted else 30.0)

    @hookimpl
    def convrag_conversations_ended(self, seconds: float) -> str | None:
        """Wait until the turns are sent, at most so many seconds; say how many, and where to."""
        return self._sender.flush(seconds) if "_sender" in self.__dict__ else None
