"""A cluster's addresses and credentials, from environment variables alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from convrag.sdk.secrets import redact

_PORTS = {"http": 9200, "https": 443}


@dataclass(frozen=True)
class Connection:
    """The values of an engine's variables.

    Args:
        prefix: how their names begin: "ES" for ES_URL, ES_USER and the others.
        values: the rest of each name ("URL") -> its value, empty where it is not set.
        example: how to set the address, for messages.
    """

    prefix: str
    values: Mapping[str, str] = field(repr=False)
    example: str

    @classmethod
    def from_environment(cls, prefix: str, names: Sequence[str], example: str) -> Connection:
        """Read the variables. Call it late: a notebook may set them after it has composed a
        pipeline.
        """
        return cls(
            prefix,
            {name: os.environ.get(f"{prefix}_{name}", "").strip() for name in names},
            example,
        )

    def get(self, name: str) -> str:
        """Return the value of a variable; empty where it is not set, or the engine has no such
        variable.
        """
        return self.values.get(name, "")

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the nodes, as given: they may hold users and passwords."""
        return tuple(url.strip().rstrip("/") for url in self.get("URL").split(",") if url.strip())

    def find_problems(self) -> Iterator[str]:
        """Yield what is missing, contradictory, or not an address."""
        addresses = [name for name in ("URL", "CLOUD_ID") if name in self.values]
        if not self.urls and not self.get("CLOUD_ID"):
            said = " nor ".join(self._format_names(*addresses))
            said = f"neither {said} says" if len(addresses) > 1 else f"{said} does not say"
            yield f"{said} where the cluster is: {self.example}, or choose retriever=bm25"
        yield from self._find_doubles("addresses", *addresses)
        for url in self.urls:
            if problem := self._find_url_problem(url):
                yield problem
        if bool(self.get("USER")) != bool(self.get("PASSWORD")):
            (unset,) = self._format_names("PASSWORD" if self.get("USER") else "USER")
            yield f"{unset} is not set: a user and a password are needed together"
        yield from self._find_doubles("credentials", "API_KEY", "AWS_REGION", "USER")
        if (certificate := self.get("CA_CERTS")) and not Path(certificate).expanduser().is_file():
            (name,) = self._format_names("CA_CERTS")
            yield f"{name}={certificate} is no file: it is the certificate of the cluster's own authority (PEM)"

    @property
    def hosts(self) -> list[str]:
        """The addresses without users and passwords, with ports."""
        return [_format_host(urlsplit(url)) for url in self.urls]

    @property
    def credentials(self) -> tuple[str, str] | None:
        """The user and the password, from the variables or from an address."""
        if self.get("USER"):
            return self.get("USER"), self.get("PASSWORD")
        with_user = next((parts for parts in map(urlsplit, self.urls) if parts.username), None)
        return with_user and (unquote(with_user.username or ""), unquote(with_user.password or ""))

    @property
    def ca_certs(self) -> str:
        """The path of the certificate; empty where there is none."""
        return str(Path(self.get("CA_CERTS")).expanduser()) if self.get("CA_CERTS") else ""

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

    def _format_names(self, *names: str) -> list[str]:
        return [f"{self.prefix}_{name}" for name in names]

    def _find_doubles(self, what: str, *names: str) -> Iterator[str]:
        given = self._format_names(*filter(self.get, names))
        if len(given) > 1:
            yield f"{' and '.join(given)} both are {what}: unset one of them"

    def _find_url_problem(self, url: str) -> str:
        """Say what is wrong with an address, or nothing. It may hold a password: only what follows
        the @ is shown.
        """
        try:
            parts = urlsplit(url)
            good = (
                parts.scheme in _PORTS
                and bool(parts.hostname)
                and (parts.port is None or parts.port > 0)
            )
        except ValueError:
            good = False
        return (
            ""
            if good
            else f"{self.prefix}_URL: {url.rpartition('@')[2]!r} is no address: {self.example}"
        )


def _format_host(parts: SplitResult) -> str:
    """Format scheme://host:port/path, without a user, and with a port, which the clients require."""
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{name}:{parts.port or _PORTS[parts.scheme]}{parts.path}"
