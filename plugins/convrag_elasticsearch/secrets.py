"""Keeps keys out of what people read."""

from __future__ import annotations

import re
from base64 import b64encode

_USER = re.compile(r"(?<=://)[^/@\s]+@")
_HEADER = re.compile(r"\b(ApiKey|Basic|Bearer)\s+[A-Za-z0-9+/=_\-.]+")
_SHORTEST = 4  # what is shorter could be part of any word, and hides nothing


def scrub(message: str, *secrets: str) -> str:
    """A message without these secrets (as they are, and as base64 has them), users in addresses, and headers."""
    hidden = [secret for secret in secrets if len(secret) >= _SHORTEST]
    hidden += [b64encode(secret.encode()).decode().rstrip("=") for secret in hidden]
    for secret in sorted(hidden, key=len, reverse=True):
        message = message.replace(secret, "***")
    return _HEADER.sub(r"\1 ***", _USER.sub("", message))
