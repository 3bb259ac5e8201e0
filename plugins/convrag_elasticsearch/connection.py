"""A cluster's addresses and credentials, from environment variables alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from convrag.sdk.secrets import redact

_PORTS = {"http": 9200, "https": 443}


@dataclass(frozen=True)
class Connection:
    """The values of an engine's variables.

    Args:
        prefix: the beginning of their names: "ES" for ES_URL, ES_USER and the others.
        values: the rest of each name ("URL") -> its value, empty where it is not set.
        example: how to set the address, for messages.
    """

    prefix: str
    values: Mapping[str, str] = field(repr=False)
    example: str

    @classmethod
    def from_environment(cls, prefix: str, names: Sequence[str], example: str) -> Connection:
        """Read the variables.

        Call it late: a notebook may set them after it has composed a pipeline.
        """
        values = {name: os.environ.get(f"{prefix}_{name}", "").strip() for name in names}
        return cls(prefix, values, example)

    def get(self, name: str) -> str:
        """Return the value of a variable; empty where it is not set or unknown to the engine."""
        return self.values.get(name, "")

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the nodes, as given: they may hold users and passwords."""
        return tuple(url.strip().rstrip("/") for url in self.get("URL").split(",") if url.strip())

    def find_problems(self) -> Iterator[str]:
        """Yield what is missing, contradictory, or not an address."""
        yield from self._find_address_problems()
        yield from self._find_credential_problems()
        certificate = self.get("CA_CERTS")
        if certificate and not Path(certificate).expanduser().is_file():
            yield (
                f"{self.prefix}_CA_CERTS={certificate} is not a file: it is the certificate of the "
                "cluster's own authority (PEM)"
            )

    def _find_address_problems(self) -> Iterator[str]:
        names = [name for name in ("URL", "CLOUD_ID") if name in self.values]
        if not self.urls and not self.get("CLOUD_ID"):
            full_names = self._format_names(names)
            missing = f"{full_names[0]} does not say"
            if len(full_names) > 1:
                missing = f"neither {' nor '.join(full_names)} says"
            yield f"{missing} where the cluster is: {self.example}, or choose retriever=bm25"
        yield from self._find_doubles("addresses", names)
        for url in self.urls:
            if not _is_address(url):
                # It may hold a password: only what follows the @ is shown.
                shown = url.rpartition("@")[2]
                yield f"{self.prefix}_URL: {shown!r} is not an address: {self.example}"

    def _find_credential_problems(self) -> Iterator[str]:
        if bool(self.get("USER")) != bool(self.get("PASSWORD")):
            unset = "PASSWORD" if self.get("USER") else "USER"
            yield (f"{self.prefix}_{unset} is not set: a user and a password are needed together")
        yield from self._find_doubles("credentials", ("API_KEY", "AWS_REGION", "USER"))

    @property
    def hosts(self) -> list[str]:
        """The addresses without users and passwords, with ports."""
        return [_format_host(urlsplit(url)) for url in self.urls]

    @property
    def credentials(self) -> tuple[str, str] | None:
        """The user and the password, from the variables or from an address."""
        if self.get("USER"):
            return self.get("USER"), self.get("PASSWORD")
        for url in self.urls:
            parts = urlsplit(url)
            if parts.username:
                return unquote(parts.username), unquote(parts.password or "")
        return None

    @property
    def ca_certs(self) -> str:
        """The path of the certificate; empty where there is none."""
        certificate = self.get("CA_CERTS")
        return str(Path(certificate).expanduser()) if certificate else ""

    @property
    def shown_address(self) -> str:
        """The addresses for messages."""
        if cloud := self.get("CLOUD_ID"):
            return f"ES_CLOUD_ID ({cloud.partition(':')[0]})"
        return ", ".join(self.hosts)

    def redact(self, message: str) -> str:
        """Remove keys, users and passwords from a message."""
        for url in self.urls or ("",):
            message = redact(message, self.get("API_KEY"), self.get("PASSWORD"), address=url)
        return message

    def _format_names(self, names: Iterable[str]) -> list[str]:
        return [f"{self.prefix}_{name}" for name in names]

    def _find_doubles(self, kind: str, names: Iterable[str]) -> Iterator[str]:
        """Yield which variables exclude each other, and are set both."""
        given = self._format_names(name for name in names if self.get(name))
        if len(given) > 1:
            yield f"{' and '.join(given)} both are {kind}: unset one of them"


def _is_address(url: str) -> bool:
    """Whether an address has a known scheme, a host, and no port but a number above 0."""
    try:
        parts = urlsplit(url)
        has_good_port = parts.port is None or parts.port > 0
        return parts.scheme in _PORTS and bool(parts.hostname) and has_good_port
    except ValueError:
        return False


def _format_host(parts: SplitResult) -> str:
    """Format scheme://host:port/path, without a user; the clients require the port."""
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{name}:{parts.port or _PORTS[parts.scheme]}{parts.path}"
