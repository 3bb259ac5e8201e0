"""Errors of a cluster: read, explained without secrets, and with advice on what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from convrag import ConvragError
from convrag_elasticsearch.connection import Connection

TRANSIENT_STATUSES = frozenset({408, 429, 502, 503, 504})
"""Statuses of errors that may be over when the request is repeated."""

_NODE_DOWN = re.compile(
    "node_(disconnected|not_connected|closed)_exception|connect_transport_exception"
)
"""Errors with status 500 of a search whose node went down meanwhile; the others have its copies."""

OTHER_ENGINE = "OtherEngine"
"""The `kind` of a failure where another engine answers; its `error` says what to choose."""

_TLS_ERRORS = frozenset({"TlsError", "SSLError"})
"""The clients' errors of connections with TLS."""

_NEWER_CLIENT = "The client is newer than the cluster: pip install 'elasticsearch>=8.17,<9'."
_FEWER_PASSAGES = "Fewer passages: top_k, retriever.depth or retriever.candidates."

_BY_REASON = {
    "media_type_header_exception": _NEWER_CLIENT,
    "Accept version must be": _NEWER_CLIENT,
    "index_not_found_exception": "Build the index: the same command with task=index.",
    "non-compliant": "The licence does not cover this: start a trial, or use a mode without "
    "machine learning.",
    "max_result_window": _FEWER_PASSAGES,
    "num_candidates": _FEWER_PASSAGES,
    "read-only": "Its disk is full, or somebody has made the index read-only "
    "(GET _cat/allocation?v): make room. The same command goes on then.",
}
"""A part of the cluster's message -> what to do."""

_BY_STATUS = {
    403: "This key or user may not do that: it needs `monitor` and `manage_inference` on the "
    "cluster, and `all` on the indexes that begin with retriever.prefix.",
    404: "Build what is missing: the same command with task=index.",
    413: "Send less at a time: retriever.chunk_bytes, or retriever.batch for searches.",
    429: "It has too much to do: fewer workers, fewer retriever.threads of task=index, or a bigger "
    "cluster.",
}
"""The status of an error -> what to do."""


class Failure(NamedTuple):
    """An error of an engine's client, in a form that both engines share.

    Args:
        status: the HTTP status; 0 where there was no answer, 408 where it came too late.
        error: the `error` of the reply, or the client's own words.
        kind: the class of the client's error.
        retry_after: seconds that the cluster asked for.
    """

    status: int
    error: Any
    kind: str = ""
    retry_after: float | None = None


class ClusterError(ConvragError):
    """The cluster did not answer, or replied with an error.

    Args:
        message: what went wrong, and what to do.
        status: the HTTP status; 0 where there was no answer, 408 where it came too late.
        reason: the cluster's own message; default: `message`.
        transient: whether it may be over when the request is repeated; default: by the status.
        retry_after: seconds that the cluster asked for.
    """

    def __init__(
        self,
        message: str,
        status: int = 0,
        reason: str = "",
        *,
        transient: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.reason = reason or message
        self.transient = status in TRANSIENT_STATUSES if transient is None else transient
        self.retry_after = retry_after
        super().__init__(message)

    @property
    def unavailable(self) -> bool:
        """Whether the cluster as a whole is in trouble, rather than this one request."""
        return self.status == 0 or self.transient


def explain_failure(failure: Failure, name: str, connection: Connection) -> ClusterError:
    """Put a failed request into our words, without secrets; `name` is the engine's."""
    if failure.kind == OTHER_ENGINE:
        return ClusterError(
            f"what answers at {connection.shown_address} is not {name}: {failure.error}", 400
        )
    if failure.status == 0 or failure.kind == "ConnectionTimeout":
        return _explain_unreachable(failure, connection)
    reason = connection.redact(format_reason(failure.error)).rstrip(".")
    status = 503 if failure.status == 500 and _NODE_DOWN.search(reason) else failure.status
    advice = _advise(status, reason, connection.prefix)
    message = f"{name} refused (status {status}): {reason}. {advice}"
    return ClusterError(message, status, reason, retry_after=failure.retry_after)


def _explain_unreachable(failure: Failure, connection: Connection) -> ClusterError:
    reason = connection.redact(str(failure.error).rpartition("): ")[2])
    advice = _advise_unreachable(failure.kind, connection.prefix)
    message = f"nothing answers at {connection.shown_address} ({failure.kind}: {reason}). {advice}"
    return ClusterError(message, failure.status, transient=failure.kind not in _TLS_ERRORS)


def format_reason(error: Any) -> str:
    """Format the `error` of a reply, causes included, in one line."""
    if not isinstance(error, Mapping):
        return " ".join(str(error).split())
    reasons: list[str] = []
    cause: Any = error
    while isinstance(cause, Mapping):
        text = f"{cause.get('type', '')}: {cause.get('reason') or ''}".strip(": ")
        if text and text not in reasons:
            reasons.append(text)
        inner = cause.get("caused_by")
        if not inner and cause is error:
            roots = cause.get("root_cause") or [None]
            inner = roots[0]
        cause = inner
    return " ".join("; ".join(reasons).split())


def _advise_unreachable(kind: str, prefix: str) -> str:
    if kind == "ConnectionTimeout":
        return (
            "Is it overloaded? Give each try longer (retriever.timeout), or send less at a time "
            "(retriever.batch)."
        )
    if kind in _TLS_ERRORS:
        return (
            f"Set {prefix}_CA_CERTS to the certificate of the cluster's authority, or use http:// "
            "without TLS."
        )
    return f"Start the cluster (docker compose up -d --wait), or set {prefix}_URL."


def _advise(status: int, reason: str, prefix: str) -> str:
    for part, advice in _BY_REASON.items():
        if part in reason:
            return advice
    if status == 401:
        if prefix == "ES":
            return "Check ES_API_KEY, or ES_USER and ES_PASSWORD."
        return f"Check {prefix}_USER and {prefix}_PASSWORD."
    if status in TRANSIENT_STATUSES and status != 429:
        return "Is the cluster well? Try again later: what was done is kept."
    if status >= 500:
        return (
            "The cluster failed in itself: look into the log of its nodes (docker compose logs, or "
            "logs/)."
        )
    return _BY_STATUS.get(status, "Check the parameters of the retriever.")
