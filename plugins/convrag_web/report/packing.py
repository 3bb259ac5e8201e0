"""Plain data as text in a page: JSON, gzip, base64, which a browser unpacks without libraries."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from convrag.sdk.strict_json import format_json

CHUNK = 250
"""Records, or passages, that are packed together: a turn opens at once, and repeated words still cost little."""

_LEVEL = 5


def format_row(value: Any) -> bytes:
    """Format a value as JSON in UTF-8. Half a surrogate pair is written as JSON does it."""
    return format_json(value).encode("utf-8", "backslashreplace")


def pack_rows(rows: Iterable[bytes]) -> str:
    """Pack formatted values as a list: base64 of gzip."""
    return pack_bytes(b"[" + b",".join(rows) + b"]")


def pack_bytes(text: bytes) -> str:
    """Pack bytes: base64 of gzip. Equal bytes give equal texts."""
    return b64encode(gzip.compress(text, _LEVEL, mtime=0)).decode("ascii")
