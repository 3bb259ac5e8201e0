"""Replies in JSON, as its standard has it."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.responses import Response

from convrag.sdk.streaming import mend_surrogates
from convrag.sdk.strict_json import format_json

_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
"""Objects are left to `format_json`, which writes them in the same way everywhere."""


def encode_json(value: Any) -> bytes:
    """Plain data as JSON in UTF-8: NaN becomes null, half a surrogate pair U+FFFD."""
    try:
        encoded: bytes = orjson.dumps(value, option=_PLAIN)
    except TypeError:  # half a surrogate pair, an integer beyond 64 bits, a key that is no text, an object
        encoded = mend_surrogates(format_json(value)).encode()
    return encoded


class JsonReply(Response):
    """A reply in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Format the body."""
        return encode_json(content)
