"""Requests and replies in JSON, for servers of embeddings and rerankers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from convrag_llms.endpoint import Endpoint
from convrag_llms.errors import UnusableReply
from convrag_llms.openai_protocol import open_response, raise_error
from convrag_llms.prices import PRICE_NAMES
from convrag_llms.targets import find_model_name, find_target

_NOT_SENT = frozenset({*PRICE_NAMES, "extra_headers", "extra_body"})
"""Names in `extra` that are not parameters of a request."""


def post_json(
    endpoint: Endpoint, path: str, body: Mapping[str, Any], address: str | None = None
) -> Any:
    """Send a request, and return the JSON of its reply.

    Args:
        endpoint: where the model is.
        path: after the address.
        body: the request.
        address: instead of the endpoint's own.

    Raises:
        HttpError: the server answered with an error; or as `Connections.send`.
        UnusableReply: the reply is not JSON.
    """
    url, headers = find_target(endpoint, path, address)
    headers |= {"content-type": "application/json"}
    for name, value in (body.get("extra_headers") or {}).items():
        headers[name.lower()] = value
    request = {name: value for name, value in body.items() if name not in _NOT_SENT}
    if "model" in request:
        request["model"] = find_model_name(endpoint)
    request |= body.get("extra_body") or {}
    with open_response("POST", url, json.dumps(request).encode(), headers) as response:
        content = b"".join(response.read_pieces())
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        text = content.decode(errors="replace")
        raise UnusableReply(f"what it sent is not JSON: {text}") from None
    if isinstance(data, dict) and "error" in data:
        raise_error(data)
    return data


def read_tokens(data: Any) -> int:
    """Read the tokens of a request as the server counts them; 0 where it does not say."""
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return 0
    for name in ("prompt_tokens", "total_tokens"):
        count = usage.get(name)
        if isinstance(count, int) and count > 0:
            return count
    return 0


def is_place(index: Any, count: int) -> bool:
    """Whether an index of a reply is one of `count` texts."""
    is_number = isinstance(index, int) and not isinstance(index, bool)
    return is_number and 0 <= index < count
