"""The cluster's address and credentials, from environment variables alone, and its errors in our words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from convrag import ConvragError
from convrag.sdk.secrets import redact

_PORTS = {"http": 9200, "https": 443}
_EXAMPLE = "export ES_URL=http://localhost:9200 (compose.yaml starts a cluster there)"


@dataclass(frozen=True)
class Connection:
    """The values of ES_URL (several nodes, separated by commas), ES_CLOUD_ID, ES_API_KEY, ES_USER, ES_PASSWORD and
    ES_CA_CERTS.
    """

    urls: tuple[str, ...] = field(repr=False)
    cloud_id: str = field(repr=False)
    api_key: str = field(repr=False)
    user: str = field(repr=False)
    password: str = field(repr=False)
    ca_certs: str

    @classmethod
    def from_environment(cls) -> Connection:
        """Read the variables. Call it late: a notebook may set them after it has composed a pipeline."""
        given = {name: os.environ.get(f"ES_{name}", "").strip() for name in _NAMES}
        urls = tuple(url.strip().rstrip("/") for url in given["URL"].split(",") if url.strip())
        others = ("CLOUD_ID", "API_KEY", "USER", "PASSWORD", "CA_CERTS")
        return cls(urls, *(given[name] for name in others))

    def find_problems(self) -> Iterator[str]:
        """Yield what is missing, contradictory, or not an address."""
        if not self.urls and not self.cloud_id:
            yield f"neither ES_URL nor ES_CLOUD_ID says where the cluster is: {_EXAMPLE}, or choose retriever=bm25"
        if self.urls and self.cloud_id:
            yield "ES_URL and ES_CLOUD_ID both are addresses: unset one of them"
        for url in self.urls:
            if problem := _find_url_problem(url):
                yield problem
        if bool(self.user) != bool(self.password):
            unset = "ES_PASSWORD" if self.user else "ES_USER"
            yield f"{unset} is not set: a user and a password are needed together"
        if self.api_key and self.user:
            yield "ES_API_KEY and ES_USER both are credentials: unset one of them"
        if self.ca_certs and not Path(self.ca_certs).expanduser().is_file():
            yield f"ES_CA_CERTS={self.ca_certs} is no file: it is the certificate of the cluster's own authority (PEM)"

    def client_arguments(self) -> Mapping[str, Any]:
        """Return the arguments of the client's constructor."""
        given: dict[str, Any] = {"cloud_id": self.cloud_id} if self.cloud_id else {"hosts": self._hosts()}
        if self.api_key:
            given["api_key"] = self.api_key
        elif credentials := self._credentials():
            given["basic_auth"] = credentials
        if self.ca_certs:
            given["ca_certs"] = str(Path(self.ca_certs).expanduser())
        return given

    @property
    def shown_address(self) -> str:
        """The addresses without users and passwords, for messages."""
        if self.cloud_id:
            return f"ES_CLOUD_ID ({self.cloud_id.partition(':')[0]})"
        return ", ".join(self._hosts())

    def redact(self, message: str) -> str:
        """Remove keys, users and passwords from a message."""
        for url in self.urls or ("",):
            message = redact(message, self.api_key, self.password, address=url)
        return message

    def _hosts(self) -> list[str]:
        return [_format_host(urlsplit(url)) for url in self.urls]

    def _credentials(self) -> tuple[str, str] | None:
        if self.user:
            return self.user, self.password
        with_user = next((parts for parts in map(urlsplit, self.urls) if parts.username), None)
        if with_user is None:
            return None
        return unquote(with_user.username or ""), unquote(with_user.password or "")


_NAMES = ("URL", "CLOUD_ID", "API_KEY", "USER", "PASSWORD", "CA_CERTS")
ENVIRONMENT_VARIABLES = tuple(f"ES_{name}" for name in _NAMES)
"""The variables that are read."""


def _format_host(parts: SplitResult) -> str:
    """Format scheme://host:port/path, without a user, and with a port, which the client requires."""
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{name}:{parts.port or _PORTS[parts.scheme]}{parts.path}"


def _find_url_problem(url: str) -> str:
    """Say what is wrong with an address, or nothing. It may hold a password: only what follows the @ is shown."""
    shown = url.rpartition("@")[2]
    try:
        parts = urlsplit(url)
        good = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    return "" if good else f"ES_URL: {shown!r} is no address: {_EXAMPLE}"


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
