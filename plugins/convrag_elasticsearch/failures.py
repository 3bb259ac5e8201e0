"""Says what went wrong with a request, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convrag import ConvragError
from convrag_elasticsearch.connection import Connection

PASSING = frozenset({408, 429, 502, 503, 504})
"""Statuses of trouble that may be over when the same is asked again."""


class ClusterError(ConvragError):
    """The cluster did not answer (`status` 0, or 408 where it was too slow), or refused; `said` are its own words."""

    def __init__(self, message: str, status: int = 0, said: str = "") -> None:
        self.status = status
        self.said = said or message
        super().__init__(message)

    @property
    def down(self) -> bool:
        """Whether the cluster as a whole is in trouble, and not this one request."""
        return self.status == 0 or self.status in PASSING


def explain(error: Exception, connection: Connection) -> ConvragError:
    """Any error of the client -> one of ours, without secrets."""
    if isinstance(error, ConvragError):
        return error
    kind = type(error).__name__
    if kind == "UnsupportedProductError":
        return ClusterError(
            f"what answers at {connection.where} does not say that it is Elasticsearch (OpenSearch does not, nor "
            "does a proxy that drops headers): set ES_URL to an Elasticsearch cluster of version 8 or 9",
            400,
        )
    status = _status(error)
    if status == 0:
        said = connection.scrub(str(error.args[0] if error.args else error).rpartition("): ")[2])
        late = kind == "ConnectionTimeout"
        return ClusterError(f"nothing answers at {connection.where} ({kind}: {said}). {_unreachable(kind)}", 408 * late)
    return item_error({"error": _body(error), "status": status}, connection)


def item_error(item: Mapping[str, Any], connection: Connection) -> ClusterError:
    """A reply that is an error ({"error": ..., "status": ...}), of a whole request or of one search in it."""
    status = int(item.get("status") or 500)
    said = connection.scrub(reason(item.get("error"))).rstrip(".")
    return ClusterError(f"Elasticsearch refused (status {status}): {said}. {_advice(status, said)}", status, said)


def reason(error: Any) -> str:
    """What Elasticsearch says of an error, causes included, in one line."""
    if not isinstance(error, Mapping):
        return " ".join(str(error).split())
    said: list[str] = []
    cause: Any = error
    while isinstance(cause, Mapping):
        text = f"{cause.get('type', '')}: {cause.get('reason') or ''}".strip(": ")
        said += [text] if text and text not in said else []
        roots = cause.get("root_cause") or [None]
        cause = cause.get("caused_by") or (roots[0] if cause is error else None)
    return " ".join("; ".join(said).split())


def _status(error: Exception) -> int:
    """The HTTP status of an error; 0 where no answer came."""
    meta = getattr(error, "meta", None)
    return int(getattr(meta, "status", 0) or 0)


def _body(error: Exception) -> Any:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        return body.get("error", body)
    return body or _first_line(error)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def _unreachable(kind: str) -> str:
    if kind == "ConnectionTimeout":
        return "Is it overloaded? Give each try longer (retriever.timeout), or send less at a time (retriever.batch)."
    if kind == "TlsError":
        return "Set ES_CA_CERTS to the certificate of the cluster's authority, or use http:// where it has no TLS."
    return "Start the cluster (docker compose up -d --wait), or set ES_URL."


def _advice(status: int, said: str) -> str:
    if "media_type_header_exception" in said or "Accept version must be" in said:
        return "The client is newer than the cluster: pip install 'elasticsearch>=8.17,<9'."
    if "index_not_found_exception" in said:
        return "Build the index: the same command with task=index."
    if "non-compliant" in said:
        return "The cluster's licence does not cover this: start a trial, or use fusion=client and a mode without ML."
    if "max_result_window" in said or "num_candidates" in said:
        return "Fewer passages: top_k, retriever.depth or retriever.candidates."
    known = {
        401: "Check ES_API_KEY, or ES_USER and ES_PASSWORD.",
        403: "This key or user may not do that: it needs `monitor` and `manage_inference` on the cluster, and `all` on "
        "the indexes that begin with retriever.prefix.",
        404: "Build what is missing: the same command with task=index.",
        413: "Send less at a time: retriever.chunk_bytes, or retriever.batch for searches.",
        429: "It has too much to do: fewer workers, fewer retriever.threads of task=index, or a bigger cluster.",
    }
    if status in PASSING and status != 429:
        return "Is the cluster well? Try again later: what was done is kept."
    return known.get(status, "Check the parameters of the retriever.")
