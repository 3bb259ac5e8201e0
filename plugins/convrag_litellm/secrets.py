"""Keeps keys out of what people read."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, urlsplit, urlunsplit

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 6  # what is shorter is no key, and could be part of any word


def public_address(address: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def scrub(message: str, *secrets: str | None, address: str | None = None) -> str:
    """A message without these secrets, those of the environment, and those in an address."""
    hidden = [secret for secret in secrets if secret]
    hidden += [value for name, value in os.environ.items() if _SECRET.search(name)]
    if address:
        parts = urlsplit(address)
        hidden += [parts.username or "", parts.password or "", *(value for _, value in parse_qsl(parts.query))]
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            message = message.replace(secret, "***")
    return message
