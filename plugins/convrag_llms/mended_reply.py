"""Replies in OpenAI's form as litellm's types take them: it refuses a whole reply for a field."""

import json
from typing import Any

from convrag_llms.openai_protocol import refuse_error
from convrag_llms.reply import read_count, read_text

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def mend_reply(body: bytes) -> bytes:
    """Return a reply without numbers of tokens that are none, and with a refusal as its text.

    Anything else, such as a vector, is returned as it is. Raises HttpError for a reply that is an
    error: litellm would say that the response is invalid, and not what the server says.
    """
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(reply, dict) or not isinstance(reply.get("choices"), list):
        return body
    refuse_error(reply)
    usage = reply.get("usage")
    if isinstance(usage, dict):
        counts = {name: read_count(usage[name]) or 0 for name in _COUNTS if name in usage}
        reply["usage"] = {**usage, **counts}
    for choice in reply["choices"]:
        _mend_choice(choice)
    return json.dumps(reply).encode()


def _mend_choice(choice: Any) -> None:
    """Make a text of the parts of a message that only say why it is refused."""
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return
    parts = message.get("content")
    if not isinstance(parts, list) or not parts:
        return
    if all(isinstance(part, dict) and part.get("type") == "refusal" for part in parts):
        message["content"] = read_text(parts)
