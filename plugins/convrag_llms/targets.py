"""Where requests of OpenAI's protocol are sent: the URL, and the headers with the key."""

import os
from base64 import b64encode
from urllib.parse import unquote, urlsplit, urlunsplit

from convrag import LLMError
from convrag_llms.endpoint import KEY_VARIABLES, Endpoint

PREFIX = "openai/"
"""The prefix of the server's own name of a model: "openai/qwen"."""

_OPENAI = "https://api.openai.com/v1"
"""The address where none is given."""


def find_model_name(endpoint: Endpoint) -> str:
    """Return the server's own name of the model."""
    return endpoint.model.removeprefix(PREFIX)


def find_address(endpoint: Endpoint) -> str:
    """Return the server's address, with any secrets in it."""
    return endpoint.address() or endpoint.address_in_environment() or _OPENAI


def find_target(
    endpoint: Endpoint, path: str, address: str | None = None
) -> tuple[str, dict[str, str]]:
    """Find the URL of a path, and the headers that say who asks. Raises LLMError.

    Args:
        endpoint: where the model is.
        path: after the address.
        address: instead of the endpoint's own.
    """
    parts = urlsplit(address or find_address(endpoint))
    host = parts.netloc.rpartition("@")[2]
    url = urlunsplit((parts.scheme, host, f"{parts.path.rstrip('/')}{path}", parts.query, ""))
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return url, {"authorization": f"Basic {b64encode(user.encode()).decode()}"}
    key = find_key(endpoint)
    return url, {"authorization": f"Bearer {key}"} if key else {}


def find_key(endpoint: Endpoint) -> str:
    """Find the key; empty where none is sent. Raises LLMError for one that cannot be a key."""
    key = endpoint.api_key()
    if key is None and not endpoint.is_self_hosted():
        key = os.environ.get(KEY_VARIABLES["openai"][0])
    key = (key or "").strip()
    if not key.isascii():
        message = f"the key for {endpoint.model} has characters that no key has: export it again"
        raise LLMError(message, provider=endpoint.provider, model=endpoint.model)
    return key
