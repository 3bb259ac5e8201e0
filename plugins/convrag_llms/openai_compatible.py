"""`llm=openai_compatible`."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from convrag import LLMError, operational
from convrag_llms.endpoint import KEY_VARIABLES, Endpoint
from convrag_llms.http_llm import HttpLLM
from convrag_llms.prices import TokenPrices, compute_listed_cost, find_listed_prices
from convrag_llms.reply import Reply, StreamedReply, TokenCounts, make_reply

if TYPE_CHECKING:
    from convrag_llms.connections import Response

PREFIX = "openai/"
"""Stands before the server's own name of a model: "openai/qwen"."""

_OPENAI = "https://api.openai.com/v1"  # where no address is given
_NOT_SENT = ("input_cost_per_token", "output_cost_per_token", "extra_headers", "extra_body")
"""What is given with a request's parameters, and is none."""

_TOKEN_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\W\d_]+|[^\w\s]+|_+|\n+|[^\S\n]{2,}", re.UNICODE)
"""What tokenizers of the GPT family split a text into first; a single space belongs to the word after it."""


class OpenAICompatible(HttpLLM):
    """Ask a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp, Ollama, transformers serve, a gateway.

    Requests go there directly, at a seventh of the processor time that they take through litellm (streamed, a
    fifteenth). Requests that may succeed later (limits reached, timeouts, server errors, cut-off or empty replies) are
    repeated with exponential backoff, or when the server says (Retry-After). A stage that asks may override
    temperature, top_p, max_tokens, seed and stop.

    Tokens that the server does not count are estimated: a token for up to 7 letters of a word, 3 digits, 2 signs, or 3
    bytes of other scripts. A server on this machine or in a private network costs nothing unless `extra` has prices;
    any other costs what its provider lists for the model (the package genai-prices), if it is listed there.

    Args:
        model: as the server names it; openai/ before the name is left out.
        api_base: the server's address. None is OpenAI's own, or what OPENAI_BASE_URL says. It is written into the run's
            files: one with a password goes into a variable that api_base_env names.
        api_base_env: the NAME of an environment variable that holds the address instead.
        api_key_env: the NAME of the environment variable that holds the key. None sends no key (OPENAI_API_KEY, where
            api_base is None).
        temperature: 0 gives the likeliest reply, more gives more varied ones; None leaves it to the model.
        top_p: share of the likeliest tokens to draw from, 0 to 1; None leaves it to the model.
        max_tokens: the longest reply, in tokens; None leaves it to the model.
        seed: for servers that can repeat a draw; None sends none.
        stop: texts at which a reply ends; None or none at all sends none.
        extra: what else the server takes, by name (top_k, guided_json, ...), sent as it is. extra_headers are sent as
            headers. Prices go here as well: input_cost_per_token and output_cost_per_token, in US dollars.
        timeout: seconds for each try, from the request to the last byte of the reply.
        concurrency: requests in flight at a time; None does not limit them.
        requests_per_minute: requests begun in any 60 seconds; None does not limit them.
        retries: how often a failed request is repeated: 5 waits of 1, 2, 4, 8 and 16 seconds, each with up to a second
            of jitter, outlast an outage of half a minute. Where nothing listens at the address, 2 waits of a second.
        retry_seconds: seconds that a call may wait between its tries, all waits together; it fails where the server
            asks for a longer wait.
        max_cost_usd: US dollars that this stage may spend in this process; the run is stopped, with all that was done
            kept, before a request that could pass it. Tries that time out count as if their reply had been full length.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    env_vars = ("OPENAI_API_KEY",)

    def __init__(
        self,
        *,
        model: str = "default",
        api_base: str | None = "http://localhost:8000/v1",
        api_base_env: str | None = None,
        api_key_env: str | None = None,
        temperature: float | None = 0.0,
        top_p: float | None = None,
        max_tokens: int | None = 512,
        seed: int | None = None,
        stop: list[str] | None = None,
        extra: dict[str, Any] = {},  # noqa: B006 - read only
        timeout: Annotated[float, operational] = 60.0,
        concurrency: Annotated[int | None, operational] = None,
        requests_per_minute: Annotated[int | None, operational] = None,
        retries: Annotated[int, operational] = 5,
        retry_seconds: Annotated[float, operational] = 120.0,
        max_cost_usd: Annotated[float | None, operational] = None,
    ) -> None:
        self.model = model
        self.model_name = model.removeprefix(PREFIX)
        super().__init__(
            Endpoint(f"{PREFIX}{self.model_name}", api_base, api_base_env, api_key_env),
            extra,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=seed,
            stop=stop,
            timeout=timeout,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            retries=retries,
            retry_seconds=retry_seconds,
            max_cost_usd=max_cost_usd,
        )

    def ask(self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None) -> Reply:
        """Send one request. Raises HttpError and ConnectionFailed, too."""
        from convrag_llms.connections import CONNECTIONS
        from convrag_llms.openai_protocol import read_error

        url, headers = self._find_target()
        headers |= {"content-type": "application/json"}
        headers |= {name.lower(): value for name, value in (body.get("extra_headers") or {}).items()}
        sent = {name: value for name, value in body.items() if name not in _NOT_SENT}
        sent |= {"model": self.model_name, **(body.get("extra_body") or {})}
        if on_piece:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        with closing(CONNECTIONS.send("POST", url, json.dumps(sent).encode(), headers)) as response:
            if response.status >= 300:
                raise read_error(response)
            if on_piece:
                return self._read_stream(response, body, on_piece)
            return self._read_whole(response, body)

    def count_tokens(self, text: str) -> int:
        """An estimate: which tokenizer the server has is not known."""
        return estimate_tokens(text)

    def find_prices(self) -> TokenPrices | None:
        """The user's prices; else nothing for a server on this machine or in a private network; else listed ones."""
        if self.given_prices or is_private(self._find_address()):
            return self.given_prices or TokenPrices(0.0, 0.0, None)
        return find_listed_prices(self.model_name, self._find_address())

    def _find_address(self) -> str:
        return self.endpoint.address() or self.endpoint.address_in_environment() or _OPENAI

    def _find_target(self) -> tuple[str, dict[str, str]]:
        """Find the URL, and the headers that say who asks."""
        parts = urlsplit(self._find_address())
        host, path = parts.netloc.rpartition("@")[2], f"{parts.path.rstrip('/')}/chat/completions"
        url = urlunsplit((parts.scheme, host, path, parts.query, ""))
        if parts.username:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            return url, {"authorization": f"Basic {b64encode(user.encode()).decode()}"}
        key = self.endpoint.api_key()
        if key is None and not self.endpoint.is_self_hosted():
            key = os.environ.get(KEY_VARIABLES["openai"][0])
        if key and not key.strip().isascii():
            message = f"the key for {self.endpoint.model} has characters that no key has: export it again"
            raise LLMError(message, provider=self.endpoint.provider, model=self.endpoint.model)
        return url, {"authorization": f"Bearer {key.strip()}"} if key else {}

    def _read_whole(self, response: Response, body: Mapping[str, Any]) -> Reply:
        from convrag_llms.openai_protocol import find_error, parse_object, read_usage

        data = parse_object(b"".join(response.read_pieces()), response.headers)
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
        if choice is None and (error := find_error(data)):
            raise error
        message = (choice or {}).get("message")
        text = message.get("content") if isinstance(message, dict) else None
        finish_reason = choice.get("finish_reason") if choice else "no choices"
        tokens = read_usage(data.get("usage"))
        cost = self._compute_cost(tokens, body, text)
        return make_reply(text, finish_reason, tokens, cost, data.get("model") or self.endpoint.model)

    def _read_stream(self, response: Response, body: Mapping[str, Any], on_piece: Callable[[str], None]) -> Reply:
        from convrag_llms.openai_protocol import read_chunks, read_usage

        streamed = StreamedReply(on_piece, self.endpoint.model)
        streamed.read(read_chunks(response))
        tokens = read_usage(streamed.usage)
        cost = self._compute_cost(tokens, body, streamed.text)
        return make_reply(streamed.text, streamed.finish_reason, tokens, cost, streamed.model)

    def _compute_cost(self, tokens: TokenCounts, body: Mapping[str, Any], text: Any) -> float | None:
        """US dollars; None where no price is known. Tokens that the server does not count are estimated."""
        asked = tokens.prompt or sum(estimate_tokens(message["content"]) for message in body["messages"])
        written = tokens.completion or (estimate_tokens(text) if isinstance(text, str) else 0)
        if prices := self.given_prices:
            return asked * prices.input_price + written * prices.output_price
        if is_private(address := self._find_address()):
            return 0.0
        return compute_listed_cost(self.model_name, address, asked, written, tokens.cached)


def is_private(address: str) -> bool:
    """Whether an address is that of this machine or of a private network: a name without a dot, or a private IP."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: a token for up to 7 letters of a word, 3 digits, 2 signs, or 3 bytes of others."""
    return sum(map(_count_tokens, _TOKEN_PIECE.findall(text))) or int(bool(text))


def _count_tokens(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode(errors="replace")) // 3)
    if piece[0].isalpha():
        return -(-len(piece) // 7)  # most English words are one token, long ones two or three
    if piece[0].isdigit():
        return -(-len(piece) // 3)
    return 1 if piece.isspace() else -(-len(piece) // 2)
