"""Keeps keys out of what people read."""

from __future__ import annotations

import logging
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(
    r"(key|(?<!per_)token|secret|password|credentials?|authorization|cookie)$", re.IGNORECASE
)
_USER = re.compile(r"(?<=://)[^/@\s]+@")
_SHORTEST = 6  # what is shorter is no key, and could be part of any word


def public_address(address: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_public(address: str) -> bool:
    """Whether an address holds nothing that could be secret."""
    parts = urlsplit(address)
    return "@" not in parts.netloc and not any(_SECRET.search(name) for name, _ in parse_qsl(parts.query))


def scrub(message: str, *secrets: str | None, address: str | None = None) -> str:
    """A message without these secrets, those of the environment, and those in an address."""
    hidden = [secret for secret in secrets if secret]
    for name, value in os.environ.items():
        hidden += [value] if _SECRET.search(name) else []
        hidden += _parts(value) if "://" in value and "@" in value else []
    hidden += _parts(address) if address else []
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            message = message.replace(secret, "***")
    return _USER.sub("", message)


def secret_parameters(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The names of parameters, at any depth, that are named like a secret."""
    for name, value in parameters.items():
        if _SECRET_PARAMETER.search(str(name)):
            yield str(name)
        elif isinstance(value, Mapping):
            yield from secret_parameters(value)


class Scrubbed(logging.Filter):
    """Takes secrets out of a library's log lines, and lets each line pass once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record in place."""
        record.msg, record.args = scrub(record.getMessage()), ()
        record.exc_info = record.exc_text = None  # a traceback repeats the message, unscrubbed
        new = record.msg not in self._said
        self._said.add(record.msg)
        return new


def _parts(address: str) -> list[str]:
    """What in an address may be secret, also as a browser would send it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    basic = b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    queried = (value for _, value in parse_qsl(parts.query))
    return [parts.username or "", parts.password or "", user, password, basic, *queried]
