"""Where the cluster is and who asks: from the environment, and from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from convrag_elasticsearch.secrets import scrub

_PORTS = {"http": 9200, "https": 443}
_EXAMPLE = "export ES_URL=http://localhost:9200 (compose.yaml starts a cluster there)"


@dataclass(frozen=True)
class Connection:
    """What the variables ES_URL (several nodes with commas), ES_CLOUD_ID, ES_API_KEY, ES_USER, ES_PASSWORD and
    ES_CA_CERTS say.
    """

    urls: tuple[str, ...] = field(repr=False)
    cloud_id: str = field(repr=False)
    api_key: str = field(repr=False)
    user: str = field(repr=False)
    password: str = field(repr=False)
    ca_certs: str

    @classmethod
    def from_environment(cls) -> Connection:
        """Read now: a notebook may set the variables after it has composed a pipeline."""
        given = {name: os.environ.get(f"ES_{name}", "").strip() for name in _NAMES}
        urls = tuple(url.strip().rstrip("/") for url in given["URL"].split(",") if url.strip())
        others = ("CLOUD_ID", "API_KEY", "USER", "PASSWORD", "CA_CERTS")
        return cls(urls, *(given[name] for name in others))

    def problems(self) -> Iterator[str]:
        """What is missing, contradicts itself or cannot be an address."""
        if not self.urls and not self.cloud_id:
            yield f"neither ES_URL nor ES_CLOUD_ID says where the cluster is: {_EXAMPLE}, or choose retriever=bm25"
        if self.urls and self.cloud_id:
            yield "ES_URL and ES_CLOUD_ID both say where the cluster is: unset one of them"
        for url in self.urls:
            if problem := _problem(url):
                yield problem
        if bool(self.user) != bool(self.password):
            unset = "ES_PASSWORD" if self.user else "ES_USER"
            yield f"{unset} is not set: a user needs a password, and the other way round"
        if self.api_key and self.user:
            yield "ES_API_KEY and ES_USER both say who asks: unset one of them"
        if self.ca_certs and not Path(self.ca_certs).expanduser().is_file():
            yield f"ES_CA_CERTS={self.ca_certs} is no file: it is the certificate of the cluster's own authority (PEM)"

    def arguments(self) -> Mapping[str, Any]:
        """The same as the client takes it."""
        given: dict[str, Any] = {"cloud_id": self.cloud_id} if self.cloud_id else {"hosts": self._hosts()}
        if self.api_key:
            given["api_key"] = self.api_key
        elif user := self._user():
            given["basic_auth"] = user
        if self.ca_certs:
            given["ca_certs"] = str(Path(self.ca_certs).expanduser())
        return given

    @property
    def where(self) -> str:
        """The addresses without anything secret, for messages."""
        if self.cloud_id:
            return f"ES_CLOUD_ID ({self.cloud_id.partition(':')[0]})"
        return ", ".join(self._hosts())

    def scrub(self, message: str) -> str:
        """A message without anything of this that is secret."""
        in_urls = [part for url in self.urls for part in (urlsplit(url).username, urlsplit(url).password) if part]
        users = [value for value in in_urls if value] + [unquote(value) for value in in_urls]
        return scrub(message, self.api_key, self.password, *users)

    def _hosts(self) -> list[str]:
        return [_host(urlsplit(url)) for url in self.urls]

    def _user(self) -> tuple[str, str] | None:
        if self.user:
            return self.user, self.password
        named = next((parts for parts in map(urlsplit, self.urls) if parts.username), None)
        return (unquote(named.username or ""), unquote(named.password or "")) if named else None


_NAMES = ("URL", "CLOUD_ID", "API_KEY", "USER", "PASSWORD", "CA_CERTS")
VARIABLES = tuple(f"ES_{name}" for name in _NAMES)
"""All that is read."""


def _host(parts: SplitResult) -> str:
    """scheme://host:port/path: without user, and with a port, which the client insists on."""
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{name}:{parts.port or _PORTS[parts.scheme]}{parts.path}"


def _problem(url: str) -> str:
    """What is wrong with an address; it may hold a password, so only its end is repeated."""
    shown = url.rpartition("@")[2]
    try:
        parts = urlsplit(url)
        good = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    return "" if good else f"ES_URL: {shown!r} is no address: {_EXAMPLE}"
