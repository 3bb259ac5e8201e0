"""`llm=openai_compatible`: a server that speaks OpenAI's protocol, asked directly."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from convrag import LLMError
from convrag_llms.endpoint import KEY_VARIABLES, is_private
from convrag_llms.http_llm import HttpLLM
from convrag_llms.prices import (
    PRICE_NAMES,
    TokenPrices,
    compute_batch_cost,
    compute_listed_cost,
    find_listed_prices,
)
from convrag_llms.tokens import estimate_tokens

if TYPE_CHECKING:
    from convrag_llms.batch_protocols import BatchProtocol
    from convrag_llms.reply import Reply, ReplyReader

PREFIX = "openai/"
"""The prefix of the server's own name of a model: "openai/qwen"."""

_OPENAI = "https://api.openai.com/v1"
"""The address where none is given."""

_NOT_SENT = frozenset({*PRICE_NAMES, "extra_headers", "extra_body"})
"""Names in `llm.extra` that are not parameters of a request."""


class OpenAICompatible(HttpLLM):
    """Ask a server that speaks the OpenAI protocol: vLLM, SGLang, llama.cpp, Ollama, a gateway.

    Requests go there directly, at a seventh of the processor time that they take through litellm
    (streamed, a fifteenth). Requests that may succeed later (limits reached, timeouts, server
    errors, cut-off or empty replies) are repeated with exponential backoff, or when the server says
    (Retry-After). A stage that asks may override temperature, top_p, max_tokens, seed and stop.

    Tokens that the server does not count are estimated: a token for up to 7 letters of a word, 3
    digits, 2 signs, or 3 bytes of other scripts. A server on this machine or in a private network
    costs nothing unless `extra` has prices; any other costs what its provider lists for the model
    (the package genai-prices), if it is listed there.

    Args:
        model: as the server names it; openai/ before the name is left out.
        api_base: the server's address. None is OpenAI's own, or what OPENAI_BASE_URL says. It is
            written into the run's files: one with a password goes into a variable that api_base_env
            names.
        api_key_env: the NAME of the environment variable that holds the key. None sends no key
            (OPENAI_API_KEY, where api_base is None).
        extra: what else the server takes, by name (top_k, guided_json, ...), sent as it is.
            extra_headers are sent as headers. Prices go here as well, in US dollars:
            input_cost_per_token and output_cost_per_token, and cache_read_input_token_cost for
            tokens of the prompt that the server had in its cache (without it, they cost as the
            others do).

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    env_vars = ("OPENAI_API_KEY",)
    prefix = PREFIX

    def ask(
        self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None
    ) -> Reply:
        """Send one request. Raises HttpError and ConnectionFailed, too."""
        reader = self.make_reader(body, on_piece)
        streamed = on_piece is not None
        batched = self.batch and not streamed
        if batched:
            reader.read_whole(self._batches.ask(self._make_request(body)))
        else:
            self._send(body, reader, streamed=streamed)
        cost = self._compute_cost(body, reader)
        return self.make_reply(reader, compute_batch_cost(cost) if batched else cost)

    def batch_protocol(self) -> BatchProtocol:
        """Return OpenAI's."""
        from convrag_llms.batch_protocols import OpenAIBatches

        return OpenAIBatches(self._find_target)

    def count_tokens(self, text: str) -> int:
        """Estimate the tokens of a text: which tokenizer the server has is not known."""
        return estimate_tokens(text)

    def find_prices(self) -> TokenPrices | None:
        """Return the user's prices, else those of the server; None where they are not listed.

        A server on this machine or in a private network costs nothing.
        """
        if self.given_prices:
            return self.given_prices
        address = self._find_address()
        if is_private(address):
            return TokenPrices(0.0, 0.0)
        return find_listed_prices(self._model_name(), address)

    def _compute_cost(self, body: Mapping[str, Any], reader: ReplyReader) -> float | None:
        """Compute the US dollars of a request; None where no price is known.

        Tokens that the server does not count are estimated.
        """
        tokens = reader.tokens
        prompt = tokens.prompt
        if prompt is None:
            contents = [str(message["content"]) for message in body["messages"]]
            prompt = sum(estimate_tokens(content) for content in contents)
        completion = tokens.completion
        if completion is None:
            completion = estimate_tokens(reader.written)
        if self.given_prices:
            return self.given_prices.compute_cost(prompt, completion, tokens.cached)
        address = self._find_address()
        if is_private(address):
            return 0.0
        return compute_listed_cost(self._model_name(), address, prompt, completion, tokens.cached)

    def _send(self, body: Mapping[str, Any], reader: ReplyReader, *, streamed: bool) -> None:
        """Send a request by itself, and read the reply."""
        from convrag_llms.openai_protocol import open_response, read_chunks, read_completion

        request = self._make_request(body)
        if streamed:
            request |= {"stream": True}
        url, headers = self._find_target("/chat/completions")
        headers |= {"content-type": "application/json"}
        for name, value in (body.get("extra_headers") or {}).items():
            headers[name.lower()] = value
        with open_response("POST", url, json.dumps(request).encode(), headers) as response:
            if streamed:
                reader.read_stream(read_chunks(response))
            else:
                reader.read_whole(read_completion(response))

    def _make_request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make the JSON of a request from its parameters."""
        parameters = {name: value for name, value in body.items() if name not in _NOT_SENT}
        return {**parameters, "model": self._model_name(), **(body.get("extra_body") or {})}

    def _model_name(self) -> str:
        """Return the server's own name of the model."""
        return self.endpoint.model.removeprefix(PREFIX)

    def _find_address(self) -> str:
        return self.endpoint.address() or self.endpoint.address_in_environment() or _OPENAI

    def _find_target(self, path: str) -> tuple[str, dict[str, str]]:
        """Find the URL of a path, and the headers that say who asks. Raises LLMError."""
        parts = urlsplit(self._find_address())
        host = parts.netloc.rpartition("@")[2]
        url = urlunsplit((parts.scheme, host, f"{parts.path.rstrip('/')}{path}", parts.query, ""))
        if parts.username:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            return url, {"authorization": f"Basic {b64encode(user.encode()).decode()}"}
        key = self._find_key()
        return url, {"authorization": f"Bearer {key}"} if key else {}

    def _find_key(self) -> str:
        """Find the key; empty where none is sent. Raises LLMError for one that cannot be a key."""
        key = self.endpoint.api_key()
        if key is None and not self.endpoint.is_self_hosted():
            key = os.environ.get(KEY_VARIABLES["openai"][0])
        key = (key or "").strip()
        if not key.isascii():
            message = (
                f"the key for {self.endpoint.model} has characters that no key has: export it again"
            )
            raise LLMError(message, provider=self.endpoint.provider, model=self.endpoint.model)
        return key
