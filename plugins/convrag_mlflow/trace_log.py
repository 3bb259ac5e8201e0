"""Writes turns to MLflow as traces, and deletes the traces of runs that are replaced."""

import json
import logging
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from uuid import uuid4

from mlflow import MlflowClient
from mlflow.entities import Span, TraceInfo, TraceLocation, TraceState
from mlflow.exceptions import MlflowException
from mlflow.tracing.client import TracingClient

from convrag.sdk.llm.streaming import mend_surrogates
from convrag.sdk.output.printable import make_printable
from convrag.sdk.output.spans import Clear, Row, clear_all
from convrag.sdk.secrets import redact
from convrag_mlflow.run_data import clip_text

log = logging.getLogger(__name__)

_NAMES = {
    "kind": "mlflow.spanType",
    "inputs": "mlflow.spanInputs",
    "outputs": "mlflow.spanOutputs",
    "tokens": "mlflow.chat.tokenUsage",
    "cost": "mlflow.llm.cost",
    "model": "mlflow.llm.model",
}
"""Attributes of spans -> the names by which MLflow shows and counts them."""

_BATCH = 20  # turns whose spans are written at once
_DELETED = 100  # traces that MLflow deletes at once
_PREVIEW = 1000  # characters that MLflow's list of traces takes
_REMEMBERED = 10_000  # texts


class TraceLog:
    """The traces of an experiment.

    Args:
        client: the client of the tracking address.
        experiment: the experiment's id.
        secret: an address whose user and password no trace may show; None if it has none.
    """

    def __init__(self, client: MlflowClient, experiment: str, secret: str | None = None) -> None:
        self._client = client
        self._secret = secret
        self._tracing = TracingClient(client.tracking_uri)
        self._experiment = experiment

    def write(self, turns: Iterable[Row], run_id: str = "") -> None:
        """Write turns as traces.

        Args:
            turns: the turns, as `make_trace` returns them.
            run_id: the id of their run; empty for turns of conversations.

        Raises:
            MlflowException: the address cannot be used, or takes no traces: a server before MLflow
                3.4, say.
        """
        left = iter(turns)
        clear = lru_cache(_REMEMBERED)(self._clear)  # passages and names come again and again
        while batch := list(islice(left, _BATCH)):
            traces = [self._make_trace(turn, run_id, clear) for turn in batch]
            for info, _ in traces:
                self._tracing.start_trace(info)
            self._tracing.log_spans(
                self._experiment, [span for _, spans in traces for span in spans]
            )

    def delete(self, run_id: str) -> None:
        """Delete the traces of a run; if that fails, a warning says so."""
        try:
            while found := self._client.search_traces(
                locations=[self._experiment],
                run_id=run_id,
                include_spans=False,
                max_results=_DELETED,
            ):
                identifiers = [trace.info.trace_id for trace in found]
                if not self._client.delete_traces(self._experiment, trace_ids=identifiers):
                    return
        except MlflowException as error:
            reason = self._clear(str(error))
            log.warning(
                "the traces of the run %s in MLflow, which is replaced, are still there: %s",
                run_id,
                reason,
            )

    def _clear(self, text: str) -> str:
        return make_printable(mend_surrogates(redact(text, address=self._secret)))

    def _make_trace(self, turn: Row, run_id: str, clear: Clear) -> tuple[TraceInfo, list[Span]]:
        turn = clear_all(turn, clear)
        number = uuid4()
        trace_id = f"tr-{number.hex}"
        root = turn["spans"][0]
        metadata = {
            "mlflow.sourceRun": run_id,
            "mlflow.trace.session": _name_session(turn["conversation"], run_id),
            "mlflow.trace_schema.version": "3",
        }
        if turn["tokens"]:
            metadata["mlflow.trace.tokenUsage"] = json.dumps(turn["tokens"])
        if turn["cost"]:
            metadata["mlflow.trace.cost"] = json.dumps(turn["cost"])
        info = TraceInfo(
            trace_id=trace_id,
            trace_location=TraceLocation.from_experiment_id(self._experiment),
            request_time=root["start"] // 10**6,
            execution_duration=(root["end"] - root["start"]) // 10**6,
            state=TraceState.ERROR if turn["error"] else TraceState.OK,
            request_preview=clip_text(turn["question"], _PREVIEW),
            response_preview=clip_text(turn["answer"] or turn["error"], _PREVIEW),
            trace_metadata={name: value for name, value in metadata.items() if value},
            tags={name: clip_text(value, 4000) for name, value in turn["tags"].items() if value},
        )
        return info, [
            _make_span(span, trace_id, number.bytes, place)
            for place, span in enumerate(turn["spans"])
        ]


def _name_session(conversation: str, run_id: str) -> str:
    """Name the session of a conversation, in a run `moon-basics (3f2a91bc)`.

    Several runs have the same conversations, and MLflow's page would show them as one session.
    """
    if not run_id:
        return clip_text(conversation, 240)
    return f"{clip_text(conversation, 200)} ({run_id[:8]})"


def _make_span(span: Row, trace_id: str, number: bytes, place: int) -> Span:
    """Make a span of a trace, which has an id in two forms; `place` is the span's place in it."""
    error = span["error"]
    events = dict(span["events"])
    if error:
        events["exception"] = {"exception.message": error}
    attributes = {"mlflow.traceRequestId": json.dumps(trace_id)}
    for name, value in span["attributes"].items():
        attributes[_NAMES.get(name, name)] = json.dumps(value, ensure_ascii=False)
    return Span.from_dict(
        {
            "trace_id": b64encode(number).decode(),
            "span_id": _encode_place(place),
            "parent_span_id": None if span["parent"] is None else _encode_place(span["parent"]),
            "name": span["name"],
            "start_time_unix_nano": span["start"],
            "end_time_unix_nano": span["end"],
            "status": {"code": f"STATUS_CODE_{'ERROR' if error else 'OK'}", "message": error},
            "attributes": attributes,
            "events": [
                {"name": name, "time_unix_nano": span["end"], "attributes": fields}
                for name, fields in events.items()
            ],
        }
    )


def _encode_place(place: int) -> str:
    return b64encode((place + 1).to_bytes(8, "big")).decode()
