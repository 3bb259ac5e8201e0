"""Asks a server that speaks OpenAI's protocol itself, without a library for providers in between."""

from __future__ import annotations

import ipaddress
import json
import os
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from convrag import LLMError
from convrag_llms.client import TokenPrices
from convrag_llms.endpoint import Endpoint
from convrag_llms.event_stream import read_events
from convrag_llms.http_errors import HttpError
from convrag_llms.prices import read_given_prices
from convrag_llms.providers import KEY_VARIABLES, find_address_in_environment
from convrag_llms.reply import IncompleteStream, Reply, StreamedText, TokenCounts, make_reply
from convrag_llms.token_estimate import estimate_tokens

if TYPE_CHECKING:
    from convrag_llms.connections import Connections, Response

PREFIX = "openai/"
"""Stands before the server's own name of a model: "openai/qwen"."""

OPENAI = "https://api.openai.com/v1"
"""The address where none is given."""

_NOT_SENT = ("input_cost_per_token", "output_cost_per_token", "extra_headers", "extra_body")
"""What is given with a request's parameters, and is none."""


class OpenAIClient:
    """Asks the model of an endpoint over HTTP (see `ModelClient`).

    Args:
        endpoint: where it is.
        extra: the user's further parameters, of which it reads the prices.
    """

    def __init__(self, endpoint: Endpoint, extra: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self._given_prices = read_given_prices(extra)

    def load(self) -> None:
        """Import urllib3."""
        _connections()

    def ask(self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None) -> Reply:
        """Send one request. Raises HttpError and ConnectionFailed, too."""
        url, headers = self._find_target()
        headers |= {"Content-Type": "application/json", **(body.get("extra_headers") or {})}
        sent = {name: value for name, value in body.items() if name not in _NOT_SENT}
        sent |= {"model": self.endpoint.model.removeprefix(PREFIX), **(body.get("extra_body") or {})}
        if on_piece:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        with _connections().post(url, json.dumps(sent).encode(), headers) as response:
            if response.status >= 300:
                raise _read_error(response)
            if on_piece:
                return self._read_stream(response, body, on_piece)
            return self._read_whole(response, body)

    def count_tokens(self, text: str) -> int:
        """An estimate: which tokenizer the server has is not known."""
        return estimate_tokens(text)

    def find_prices(self) -> TokenPrices | None:
        """The user's prices; nothing for a server on this machine or in a private network, where none are given."""
        free = TokenPrices(0.0, 0.0, None) if is_private(self._find_address()) else None
        return self._given_prices or free

    def find_max_input_tokens(self) -> int | None:
        """Not known: the server says it where a request is too long."""
        return None

    def _find_address(self) -> str:
        return self.endpoint.address() or find_address_in_environment(self.endpoint.provider) or OPENAI

    def _find_target(self) -> tuple[str, dict[str, str]]:
        """Find the URL, and the headers that say who asks."""
        parts = urlsplit(self._find_address())
        url = urlunsplit(
            (
                parts.scheme,
                parts.netloc.rpartition("@")[2],
                f"{parts.path.rstrip('/')}/chat/completions",
                parts.query,
                "",
            )
        )
        if parts.username:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            return url, {"Authorization": f"Basic {b64encode(user.encode()).decode()}"}
        key = self.endpoint.api_key()
        if key is None and not self.endpoint.is_self_hosted():
            key = os.environ.get(KEY_VARIABLES["openai"][0])
        if key and not key.strip().isascii():
            message = f"the key for {self.endpoint.model} has characters that no key has: export it again"
            raise LLMError(message, provider=self.endpoint.provider, model=self.endpoint.model)
        return url, {"Authorization": f"Bearer {key.strip()}"} if key else {}

    def _read_whole(self, response: Response, body: Mapping[str, Any]) -> Reply:
        data = _parse(b"".join(response.read_pieces()), response.headers)
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
        if choice is None and (error := _find_error(data)):
            raise error
        message = (choice or {}).get("message")
        text = message.get("content") if isinstance(message, dict) else None
        finish_reason = choice.get("finish_reason") if choice else "no choices"
        tokens = _read_usage(data.get("usage"))
        cost = self._compute_cost(tokens, body, text)
        return make_reply(text, finish_reason, tokens, cost, data.get("model") or self.endpoint.model)

    def _read_stream(self, response: Response, body: Mapping[str, Any], on_piece: Callable[[str], None]) -> Reply:
        text = StreamedText(on_piece)
        usage, model = None, self.endpoint.model
        try:
            for chunk in _read_chunks(response):
                usage, model = chunk.get("usage") or usage, chunk.get("model") or model
                choices = chunk.get("choices")
                for choice in choices if isinstance(choices, list) else ():
                    if isinstance(choice, dict) and not choice.get("index"):
                        delta = choice.get("delta")
                        piece = delta.get("content") if isinstance(delta, dict) else None
                        text.add(piece, choice.get("finish_reason"))
        except Exception:
            if not text.is_finished:
                raise  # else only the usage is missing, which comes after the text
        if not text.is_finished:
            raise IncompleteStream
        tokens = _read_usage(usage)
        cost = self._compute_cost(tokens, body, text.text)
        return make_reply(text.text, text.finish_reason, tokens, cost, model)

    def _compute_cost(self, tokens: TokenCounts, body: Mapping[str, Any], text: Any) -> float | None:
        """US dollars; None where no price is known. Tokens that the server does not count are estimated."""
        if (prices := self.find_prices()) is None:
            return None
        if not prices.input_price and not prices.output_price:
            return 0.0
        asked = tokens.prompt or sum(estimate_tokens(message["content"]) for message in body["messages"])
        written = tokens.completion or (estimate_tokens(text) if isinstance(text, str) else 0)
        return asked * prices.input_price + written * prices.output_price


def is_private(address: str) -> bool:
    """Whether an address is that of this machine or of a private network: a name without a dot, or a private IP."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


@cache
def _connections() -> Connections:
    from convrag_llms.connections import Connections

    return Connections()


def _read_chunks(response: Response) -> Iterator[dict[str, Any]]:
    """Yield what the events of a streamed reply hold. Raises HttpError for one that is an error, or no JSON object."""
    for event in read_events(response.read_pieces()):
        if event.data.strip() == b"[DONE]":
            response.drain()
            return
        chunk = _parse(event.data, response.headers)
        if (event.type == "error" or "choices" not in chunk) and (error := _find_error(chunk)):
            raise error
        yield chunk


def _read_usage(usage: Any) -> TokenCounts:
    if not isinstance(usage, dict):
        return TokenCounts()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return TokenCounts.read(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def _parse(data: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """Parse a JSON object. Raises HttpError (502) for anything else."""
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise HttpError(502, f"what it sent is no JSON object: {data.decode(errors='replace')}", headers)
    return parsed


def _read_error(response: Response) -> HttpError:
    """The error that a response with an error's status is."""
    data = b"".join(response.read_pieces())
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        parsed = None
    message = _find_message(parsed) or data.decode(errors="replace").strip() or "it says nothing more"
    return HttpError(response.status, message, response.headers)


def _find_error(data: Mapping[str, Any]) -> HttpError | None:
    """The error that came in place of a reply, with the status that it names; None where the data are none."""
    if (message := _find_message(data)) is None:
        return None
    error = data.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return HttpError(code if isinstance(code, int) and 400 <= code <= 599 else 502, message)


def _find_message(data: Any) -> str | None:
    """The message of an error in the protocol's form, or in those of vLLM and FastAPI; None where there is none."""
    if not isinstance(data, dict):
        return None
    error = data.get("error", data.get("message", data.get("detail")))
    if not isinstance(error, dict):
        return None if error is None else str(error)
    code = error.get("code")
    said = str(error.get("message") or error)
    return f"{said} ({code})" if isinstance(code, str) and code and code not in said else said
