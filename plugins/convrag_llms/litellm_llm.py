"""`llm=litellm`: a model of any provider that litellm knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from convrag_llms.endpoint import KEY_VARIABLES, Endpoint
from convrag_llms.http_llm import HttpLLM
from convrag_llms.prices import INPUT_PRICE, OUTPUT_PRICE, TokenPrices, compute_batch_cost

if TYPE_CHECKING:
    from convrag_llms.batch_protocols import BatchProtocol
    from convrag_llms.reply import Reply, ReplyReader

_PLACEHOLDER_KEY = "not-needed"
"""The key for a local server, which does not look at it: OpenAI's client insists on one."""

_REQUEST_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
)
"""Headers of a single request; the others say who asks."""


class LitellmEndpoint(Endpoint):
    """An endpoint of any provider that litellm knows."""

    def find_missing_keys(self) -> Sequence[str]:
        """Return the provider's variables of keys that are not set.

        Those of the usual providers are known without importing litellm.
        """
        known = super().find_missing_keys()
        if known is not None:
            return known
        from convrag_llms.litellm_library import load_library

        environment = load_library().validate_environment(self.model)
        return [str(name) for name in environment["missing_keys"]]


class LiteLLM(HttpLLM):
    """Ask a language model through litellm: a hosted one, or a server of the OpenAI protocol.

    Requests that may succeed later (limits reached, timeouts, server errors, cut-off or empty
    replies) are repeated with exponential backoff, or when the server says (Retry-After). A stage
    that asks may override temperature, top_p, max_tokens, seed and stop.

    Args:
        model: as litellm names it: provider/model, such as openai/gpt-4o; openai/<name> for a
            server of your own.
        api_key_env: the NAME of the environment variable that holds the key. None takes the
            provider's usual one (OPENAI_API_KEY) or, with an address of your own, none at all
            (azure: AZURE_API_KEY).
        extra: what else litellm or this provider takes, by name (num_ctx, api_version,
            reasoning_effort, ...), sent as it is. Prices of a model that litellm does not know go
            here as well, in US dollars: input_cost_per_token and output_cost_per_token, and
            litellm's others (cache_read_input_token_cost, ...).

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    requires: ClassVar[Mapping[str, str]] = {"litellm": "convrag[litellm]"}
    endpoint_class = LitellmEndpoint
    env_vars = tuple(name for names in KEY_VARIABLES.values() for name in names)

    def check(self) -> Iterable[str]:
        """Yield what is missing; batches are for Anthropic alone."""
        yield from super().check()
        if self.batch and self.endpoint.provider != "anthropic":
            yield (
                "{place}.batch=true is for Anthropic ({place}.model=anthropic/...) and for servers "
                "of OpenAI's batch protocol: choose {place}=openai_compatible for these"
            )

    def load_libraries(self) -> None:
        """Import the libraries of the first request, litellm too."""
        super().load_libraries()
        self._library()

    def ask(
        self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None
    ) -> Reply:
        """Send one request. Raises what litellm raises, too."""
        from convrag_llms import litellm_library

        request = {
            **body,
            "api_base": self.endpoint.address(),
            "api_key": self._find_key(),
            "timeout": timeout,
        }
        reader = self.make_reader(body, on_piece)
        if on_piece is not None:
            with litellm_library.stream(request) as chunks:
                return self._read_stream(chunks, reader)
        answer = self._answer_by_batch if self.batch else None
        response = litellm_library.complete(request, answer)
        reader.read_whole(_to_plain(response))
        cost = self._compute_cost(response)
        return self.make_reply(reader, compute_batch_cost(cost) if self.batch else cost)

    def batch_protocol(self) -> BatchProtocol:
        """Return Anthropic's, to the address and with the headers of litellm's last request."""
        from convrag_llms.batch_protocols import AnthropicBatches

        return AnthropicBatches(lambda path: (f"{self._url}{path}", self._headers))

    def count_tokens(self, text: str) -> int:
        """Count tokens as litellm does for this model; approximate where it has no tokenizer."""
        return int(self._library().token_counter(model=self.endpoint.model, text=text))

    def find_prices(self) -> TokenPrices | None:
        """Return the user's prices, else the highest prices in litellm's list."""
        if self.given_prices:
            return self.given_prices
        try:
            info = self._library().get_model_info(self.endpoint.model)
        except Exception:  # a bare Exception for a model that is not in its list
            return None
        if info.get(INPUT_PRICE) is None:
            return None
        return TokenPrices(
            _find_highest(info, INPUT_PRICE, "cache_creation_input_token_cost"),
            _find_highest(info, OUTPUT_PRICE),
            info.get("max_output_tokens"),
        )

    def _find_key(self) -> str | None:
        """Find the key to send; None leaves it to litellm to find the provider's."""
        key = self.endpoint.api_key()
        if key is None and self.endpoint.is_self_hosted():
            return _PLACEHOLDER_KEY
        return key

    def _answer_by_batch(self, url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Wait for the reply to a request that litellm made for Anthropic.

        Raises as `Batches.ask`.
        """
        self._url = url
        self._headers = {
            name: value for name, value in headers.items() if name not in _REQUEST_HEADERS
        }
        return json.dumps(self._batches.ask(json.loads(body))).encode()

    def _library(self) -> Any:
        from convrag_llms.litellm_library import load_library

        return load_library()

    def _read_stream(self, chunks: Any, reader: ReplyReader) -> Reply:
        # litellm adds a finish reason to any stream that stops; its own attribute says whether the
        # server sent one.
        def is_complete() -> bool:
            return getattr(chunks, "received_finish_reason", "unknown") is not None

        reader.read_stream(map(_to_plain, chunks), is_complete)
        if not reader.usage:
            return self.make_reply(reader, None)
        response = self._library().ModelResponse(model=self.endpoint.model, usage=reader.usage)
        return self.make_reply(reader, self._compute_cost(response))

    def _compute_cost(self, response: Any) -> float | None:
        """Compute the US dollars of a response; None where litellm knows no price.

        For a whole response, litellm has computed them itself.
        """
        hidden = getattr(response, "_hidden_params", None) or {}
        if "response_cost" in hidden:
            known = hidden["response_cost"]
            return None if known is None else float(known)
        model = self.endpoint.model
        try:
            cost = self._library().completion_cost(completion_response=response, model=model)
        except Exception:  # litellm raises many kinds for a model without a price
            return None
        return float(cost)


def _find_highest(info: Mapping[str, Any], *names: str) -> float:
    """Find the highest of a model's prices whose names begin so, without those of batches."""
    prices = [
        float(price)
        for name, price in info.items()
        if price and name.startswith(names) and not name.endswith("_batches")
    ]
    return max(prices, default=0.0)


def _to_plain(response: Any) -> dict[str, Any]:
    """Make plain data of a response or a chunk."""
    # litellm's types do not always hold what they declare, of which pydantic would warn.
    plain: dict[str, Any] = response.model_dump(warnings=False)
    return plain
