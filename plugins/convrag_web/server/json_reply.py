"""Strict JSON in replies: NaN becomes null, and half a surrogate pair U+FFFD."""

from typing import Any

from starlette.responses import Response

from convrag.sdk.data.strict_json import format_json
from convrag.sdk.llm.streaming import mend_surrogates


def format_json_text(value: Any) -> str:
    """Format plain data as strict JSON, on one line."""
    return mend_surrogates(format_json(value))


class JsonReply(Response):
    """A response whose body is strict JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Format the body."""
        return format_json_text(content).encode()
