"""Replies in JSON, as its standard has it."""

from typing import Any

from starlette.responses import Response

from convrag.sdk.streaming import mend_surrogates
from convrag.sdk.strict_json import format_json


def encode_json(value: Any) -> bytes:
    """Plain data as JSON in UTF-8: NaN becomes null, half a surrogate pair U+FFFD."""
    return mend_surrogates(format_json(value)).encode()


class JsonReply(Response):
    """A reply in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Format the body."""
        return encode_json(content)
