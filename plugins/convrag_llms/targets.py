"""Where requests of OpenAI's protocol are sent: the URL, and the headers with the key."""

import os
from base64 import b64encode
from urllib.parse import unquote, urlsplit, urlunsplit

from convrag import LLMError
from convrag_llms.endpoint import KEY_VARIABLES, OPENAI_ADDRESS, USUAL_ADDRESSES, Endpoint

PREFIX = "openai/"
"""The prefix of the server's own name of a model: "openai/qwen"."""

_NO_ADDRESS = (
    "the server's address is missing, {place}.api_base=...: "
    f"{USUAL_ADDRESSES}. OpenAI's own is {OPENAI_ADDRESS}"
)


def find_model_name(endpoint: Endpoint) -> str:
    """Return the server's own name of the model."""
    return endpoint.model.removeprefix(PREFIX)


def find_address(endpoint: Endpoint) -> str:
    """Return the server's address, with any secrets in it. Raises LLMError where none is given."""
    address = find_given_address(endpoint)
    if address is None:
        raise LLMError(
            _NO_ADDRESS.format(place=endpoint.place),
            provider=endpoint.provider,
            model=endpoint.model,
        )
    return address


def find_given_address(endpoint: Endpoint) -> str | None:
    """Return the server's address, with any secrets in it; None where none is given."""
    return endpoint.address() or endpoint.address_in_environment()


def list_missing_address(endpoint: Endpoint) -> list[str]:
    """List the problem that no address is given; empty where one is."""
    address = find_given_address(endpoint)
    names_variable = bool(endpoint.api_base_env)  # which is reported where it is not set
    return [] if address or names_variable else [_NO_ADDRESS]


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
