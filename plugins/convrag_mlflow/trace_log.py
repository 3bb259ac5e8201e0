"""Writes the turns of a run to MLflow as traces, and deletes those of a run that another one replaces."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Span, Trace, TraceData, TraceInfo, TraceLocation, TraceState
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags

from convrag.sdk.identity import digest
from convrag.sdk.printable import make_printable
from convrag.sdk.secrets import redact
from convrag.sdk.streaming import mend_surrogates
from convrag_mlflow.run_data import clip_text
from convrag_mlflow.span_data import SpanData
from convrag_mlflow.turn_spans import TurnData

log = logging.getLogger(__name__)

Clear = Callable[[str], str]
"""Takes keys, passwords and control characters out of a text."""

_BATCH = 20  # turns whose spans are written at once
_DELETED = 100  # traces that MLflow deletes at once
_PREVIEW = 1000  # characters that MLflow's list of traces takes
_REMEMBERED = 10_000  # texts
_NO_RESOURCE = Resource.get_empty()


class TraceLog:
    """The traces of an experiment.

    Args:
        client: of the tracking address.
        experiment: the experiment's id.
        secret: an address whose user and password no trace may show; None for one that has none.
    """

    def __init__(self, client: MlflowClient, experiment: str, secret: str | None = None) -> None:
        self._client = client
        self._secret = secret
        self._tracing = TracingClient(client.tracking_uri)
        self._experiment = experiment

    def write(self, run_id: str, turns: Iterable[TurnData], tags: Mapping[str, str] | None = None) -> None:
        """Write turns as traces. A turn of a run that is written again replaces itself.

        Args:
            run_id: the run's; empty for turns of conversations, which belong to none.
            turns: of the run, or of conversations.
            tags: further ones that each trace gets.

        Raises:
            MlflowException: the address cannot be used, or takes no traces.
        """
        left = iter(turns)
        clear = lru_cache(_REMEMBERED)(self._clear)  # passages and names come again and again
        while batch := list(islice(left, _BATCH)):
            traces = [_make_trace(turn, self._experiment, run_id, tags or {}, clear) for turn in batch]
            infos = [self._tracing.start_trace(trace.info) for trace in traces]
            try:
                self._tracing.log_spans(self._experiment, [span for trace in traces for span in trace.data.spans])
            except NotImplementedError:  # a server before 3.4, or one without a database
                for info, trace in zip(infos, traces, strict=True):
                    self._tracing._upload_trace_data(info, trace.data)

    def _clear(self, text: str) -> str:
        return make_printable(mend_surrogates(redact(text, address=self._secret)))

    def delete(self, run_id: str) -> None:
        """Delete the traces of a run; a warning says where that could not be done."""
        try:
            while found := self._client.search_traces(
                locations=[self._experiment], run_id=run_id, include_spans=False, max_results=_DELETED
            ):
                identifiers = [trace.info.trace_id for trace in found]
                if not self._client.delete_traces(self._experiment, trace_ids=identifiers):
                    return
        except MlflowException as error:
            reason = self._clear(str(error))
            log.warning("the traces of the run %s in MLflow, which is replaced, are still there: %s", run_id, reason)


def _make_trace(turn: TurnData, experiment: str, run_id: str, more_tags: Mapping[str, str], clear: Clear) -> Trace:
    origin = run_id or turn.spans[0].start  # a conversation may have the same turn again, as after /reset
    number = int(
        digest([origin, mend_surrogates(turn.conversation), mend_surrogates(turn.turn), turn.attempt])[:32], 16
    )
    trace_id = f"tr-{number:032x}"
    contexts = [
        SpanContext(number, place, False, TraceFlags(TraceFlags.SAMPLED)) for place in range(1, len(turn.spans) + 1)
    ]
    spans = [_make_span(span, trace_id, contexts, place, clear) for place, span in enumerate(turn.spans)]
    root = turn.spans[0]
    metadata = {
        **({"mlflow.sourceRun": run_id} if run_id else {}),
        "mlflow.trace.session": _name_session(clear(turn.conversation), run_id),
        "mlflow.trace_schema.version": "3",
    }
    metadata |= {"mlflow.trace.tokenUsage": json.dumps(turn.tokens)} if turn.tokens else {}
    metadata |= {"mlflow.trace.cost": json.dumps(turn.cost)} if turn.cost else {}
    tags = {
        "mlflow.traceName": "turn",
        "convrag.conversation": turn.conversation,
        "convrag.turn": turn.turn,
        "convrag.number": str(turn.number),
        "convrag.attempt": str(turn.attempt or ""),
        "convrag.fallbacks": " ".join(turn.fallbacks),
        "convrag.error": turn.error,
        **more_tags,
    }
    info = TraceInfo(
        trace_id=trace_id,
        trace_location=TraceLocation.from_experiment_id(experiment),
        request_time=root.start // 10**6,
        execution_duration=(root.end - root.start) // 10**6,
        state=TraceState.ERROR if turn.error else TraceState.OK,
        request_preview=clip_text(clear(turn.question), _PREVIEW),
        response_preview=clip_text(clear(turn.answer or turn.error), _PREVIEW),
        trace_metadata=metadata,
        tags={name: clip_text(clear(value), 4000) for name, value in tags.items() if value},
    )
    return Trace(info, TraceData(spans=spans))


def _name_session(conversation: str, run_id: str) -> str:
    """`moon-basics (3f2a91bc)`: MLflow's page shows a session of all runs, which have the same conversations."""
    return f"{clip_text(conversation, 200)} ({run_id[:8]})" if run_id else clip_text(conversation, 240)


def _make_span(span: SpanData, trace_id: str, contexts: list[SpanContext], place: int, clear: Clear) -> Span:
    attributes: dict[str, Any] = {
        **span.attributes,
        "mlflow.spanType": span.type,
        "mlflow.spanInputs": span.inputs,
        "mlflow.spanOutputs": span.outputs,
    }
    texts = {
        clear(name): json.dumps(_clear_all(value, clear), ensure_ascii=False)
        for name, value in attributes.items()
        if value is not None
    }
    events = [Event(name, {key: clear(value) for key, value in told.items()}, span.end) for name, told in span.events]
    error = clear(span.error)
    if error:
        events.append(Event("exception", {"exception.message": error}, span.end))
    return Span(
        ReadableSpan(
            span.name,
            contexts[place],
            None if span.parent is None else contexts[span.parent],
            _NO_RESOURCE,
            {**texts, "mlflow.traceRequestId": json.dumps(trace_id)},
            events,
            status=Status(StatusCode.ERROR, error) if error else Status(StatusCode.OK),
            start_time=span.start,
            end_time=span.end,
        )
    )


def _clear_all(value: Any, clear: Clear) -> Any:
    """Plain data with every text cleared, keys included."""
    if isinstance(value, str):
        return clear(value)
    if isinstance(value, Mapping):
        return {clear(key): _clear_all(each, clear) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clear_all(each, clear) for each in value]
    return value
