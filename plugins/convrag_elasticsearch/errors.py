"""Errors of the cluster, translated into messages that say what to do."""

from collections.abc import Mapping
from typing import Any

from convrag import ConvragError
from convrag_elasticsearch.connection import Connection

TRANSIENT_STATUSES = frozenset({408, 429, 502, 503, 504})
"""Statuses of errors that may be over when the request is repeated."""


class ClusterError(ConvragError):
    """The cluster did not answer, or replied with an error.

    Args:
        message: what went wrong, and what to do.
        status: the HTTP status; 0 where there was no answer, 408 where it came too late.
        reason: the cluster's own message; default: `message`.
    """

    def __init__(self, message: str, status: int = 0, reason: str = "") -> None:
        self.status = status
        self.reason = reason or message
        super().__init__(message)

    @property
    def unavailable(self) -> bool:
        """Whether the cluster as a whole is in trouble, rather than this one request."""
        return self.status == 0 or self.status in TRANSIENT_STATUSES


def translate_error(error: Exception, connection: Connection) -> ConvragError:
    """Translate an error of the client into one of ours, without secrets."""
    if isinstance(error, ConvragError):
        return error
    kind = type(error).__name__
    if kind == "UnsupportedProductError":
        return ClusterError(
            f"what answers at {connection.shown_address} does not say that it is Elasticsearch (OpenSearch does not, "
            "nor does a proxy that drops headers): set ES_URL to an Elasticsearch cluster of version 8.17 or later",
            400,
        )
    status = _read_status(error)
    if status == 0:
        reason = connection.redact(str(error.args[0] if error.args else error).rpartition("): ")[2])
        message = f"nothing answers at {connection.shown_address} ({kind}: {reason}). {_advise_unreachable(kind)}"
        return ClusterError(message, 408 if kind == "ConnectionTimeout" else 0)
    return build_cluster_error({"error": _read_body(error), "status": status}, connection)


def build_cluster_error(item: Mapping[str, Any], connection: Connection) -> ClusterError:
    """Build an error from a reply {"error": ..., "status": ...}, to a whole request or to one item of it."""
    status = int(item.get("status") or 500)
    reason = connection.redact(format_reason(item.get("error"))).rstrip(".")
    return ClusterError(f"Elasticsearch refused (status {status}): {reason}. {_advise(status, reason)}", status, reason)


def format_reason(error: Any) -> str:
    """Format the `error` of a reply, causes included, in one line."""
    if not isinstance(error, Mapping):
        return " ".join(str(error).split())
    reasons: list[str] = []
    cause: Any = error
    while isinstance(cause, Mapping):
        text = f"{cause.get('type', '')}: {cause.get('reason') or ''}".strip(": ")
        reasons += [text] if text and text not in reasons else []
        roots = cause.get("root_cause") or [None]
        cause = cause.get("caused_by") or (roots[0] if cause is error else None)
    return " ".join("; ".join(reasons).split())


def _read_status(error: Exception) -> int:
    """Read the HTTP status of an error; 0 where no answer came."""
    meta = getattr(error, "meta", None)
    return int(getattr(meta, "status", 0) or 0)


def _read_body(error: Exception) -> Any:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        return body.get("error", body)
    return body or (str(error).splitlines() or [""])[0]


def _advise_unreachable(kind: str) -> str:
    if kind == "ConnectionTimeout":
        return "Is it overloaded? Give each try longer (retriever.timeout), or send less at a time (retriever.batch)."
    if kind == "TlsError":
        return "Set ES_CA_CERTS to the certificate of the cluster's authority, or use http:// where it has no TLS."
    return "Start the cluster (docker compose up -d --wait), or set ES_URL."


def _advise(status: int, reason: str) -> str:
    if "media_type_header_exception" in reason or "Accept version must be" in reason:
        return "The client is newer than the cluster: pip install 'elasticsearch>=8.17,<9'."
    if "index_not_found_exception" in reason:
        return "Build the index: the same command with task=index."
    if "non-compliant" in reason:
        return "The cluster's licence does not cover this: start a trial, or use a mode without machine learning."
    if "max_result_window" in reason or "num_candidates" in reason:
        return "Fewer passages: top_k, retriever.depth or retriever.candidates."
    by_status = {
        401: "Check ES_API_KEY, or ES_USER and ES_PASSWORD.",
        403: "This key or user may not do that: it needs `monitor` and `manage_inference` on the cluster, and `all` on "
        "the indexes that begin with retriever.prefix.",
        404: "Build what is missing: the same command with task=index.",
        413: "Send less at a time: retriever.chunk_bytes, or retriever.batch for searches.",
        429: "It has too much to do: fewer workers, fewer retriever.threads of task=index, or a bigger cluster.",
    }
    if status in TRANSIENT_STATUSES and status != 429:
        return "Is the cluster well? Try again later: what was done is kept."
    return by_status.get(status, "Check the parameters of the retriever.")
