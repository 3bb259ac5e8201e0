"""The cluster's address and the credentials: from environment variables, and from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

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
