"""Redacts keys and passwords in messages, addresses and log lines."""

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
_MIN_LENGTH = 6  # a shorter text is no key, and could be part of any word


def redact_address(address: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_public_address(address: str) -> bool:
    """Whether an address has no user, password or query parameter that could be secret."""
    parts = urlsplit(address)
    return "@" not in parts.netloc and not any(_SECRET.search(name) for name, _ in parse_qsl(parts.query))


def redact(message: str, *secrets: str | None, address: str | None = None) -> str:
    """A message with asterisks in place of secrets.

    Args:
        message: any text.
        secrets: what to redact beside the environment's secrets: variables named like a secret, and passwords in
            addresses.
        address: one whose user, password and query are secrets too.
    """
    values = [secret for secret in secrets if secret]
    for name, value in os.environ.items():
        values += [value] if _SECRET.search(name) else []
        values += _find_secret_parts(value) if "://" in value and "@" in value else []
    values += _find_secret_parts(address) if address else []
    for secret in sorted(values, key=len, reverse=True):
        if len(secret) >= _MIN_LENGTH:
            message = message.replace(secret, "***")
    return _USER.sub("", message)


def find_secret_parameters(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The names of those parameters, at any depth, that are named like a secret."""
    for name, value in parameters.items():
        if _SECRET_PARAMETER.search(str(name)):
            yield str(name)
        elif isinstance(value, Mapping):
            yield from find_secret_parameters(value)


class RedactingFilter(logging.Filter):
    """Redacts a library's log lines, and drops those that were logged before."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record in place; False for a line that was logged before."""
        record.msg, record.args = redact(record.getMessage()), ()
        record.exc_info = record.exc_text = None  # a traceback repeats the message, unredacted
        new = record.msg not in self._logged
        self._logged.add(record.msg)
        return new


def _find_secret_parts(address: str) -> list[str]:
    """The parts of an address that may be secret, also decoded, and as a header of HTTP basic authentication."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return []
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    basic = b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    queried = (value for _, value in parse_qsl(parts.query))
    return [parts.username or "", parts.password or "", user, password, basic, *queried]
