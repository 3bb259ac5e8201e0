"""`llm=openai_compatible`: a server that speaks OpenAI's protocol, asked directly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from convrag_llms.http_llm import HttpLLM
from convrag_llms.prices import (
    PRICE_NAMES,
    TokenPrices,
    compute_batch_cost,
    compute_server_cost,
    find_server_prices,
)
from convrag_llms.targets import (
    PREFIX,
    find_address,
    find_model_name,
    find_target,
    list_missing_address,
)
from convrag_llms.tokens import estimate_tokens

if TYPE_CHECKING:
    from convrag_llms.batch_protocols import BatchProtocol
    from convrag_llms.reply import Reply, ReplyReader

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
        api_base: the server's address, such as http://localhost:8000/v1; None is what the variable
            OPENAI_BASE_URL says, which needs to be set then. It is written into the run's files:
            one with a password goes into a variable that api_base_env names.
        api_key_env: the NAME of the environment variable that holds the key. None sends no key, but
            OPENAI_API_KEY to https://api.openai.com/v1, and where api_base is None.
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

    def check(self) -> Iterable[str]:
        """Yield what is missing: the address, or what any server needs."""
        return list_missing_address(self.endpoint) or super().check()

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

        return OpenAIBatches(partial(find_target, self.endpoint))

    def count_tokens(self, text: str) -> int:
        """Estimate the tokens of a text: which tokenizer the server has is not known."""
        return estimate_tokens(text)

    def find_prices(self) -> TokenPrices | None:
        """Return the user's prices, else those of the server; None where they are not listed.

        A server on this machine or in a private network costs nothing.
        """
        address = find_address(self.endpoint)
        return find_server_prices(self.given_prices, find_model_name(self.endpoint), address)

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
        return compute_server_cost(
            self.given_prices,
            find_model_name(self.endpoint),
            find_address(self.endpoint),
            prompt,
            completion,
            tokens.cached,
        )

    def _send(self, body: Mapping[str, Any], reader: ReplyReader, *, streamed: bool) -> None:
        """Send a request by itself, and read the reply."""
        from convrag_llms.openai_protocol import open_response, read_chunks, read_completion

        request = self._make_request(body)
        if streamed:
            request |= {"stream": True}
        url, headers = find_target(self.endpoint, "/chat/completions")
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
        return {
            **parameters,
            "model": find_model_name(self.endpoint),
            **(body.get("extra_body") or {}),
        }
