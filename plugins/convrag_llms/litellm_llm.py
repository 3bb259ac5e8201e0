"""`llm=litellm`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from convrag_llms.endpoint import KEY_VARIABLES, Endpoint
from convrag_llms.http_llm import HttpLLM, halve_cost
from convrag_llms.limits import TokenPrices
from convrag_llms.reply import Reply, StreamedReply, TokenCounts, make_reply, read_reply

if TYPE_CHECKING:
    from convrag_llms.batch_protocols import BatchProtocol

_PLACEHOLDER_KEY = (
    "not-needed"  # OpenAI's client insists on a key; a local server does not look at it
)
_OF_ONE_REQUEST = (
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
)
"""Headers that say nothing of who asks."""


class LitellmEndpoint(Endpoint):
    """An endpoint of any provider that litellm knows."""

    def find_missing_keys(self) -> Sequence[str]:
        """The variables of the provider's key; for the usual providers they are known without
        importing litellm.
        """
        if (known := super().find_missing_keys()) is not None:
            return known
        from convrag_llms._litellm import load_library

        return [
            str(name) for name in load_library().validate_environment(self.model)["missing_keys"]
        ]


class LiteLLM(HttpLLM):
    """Ask a language model through litellm: a hosted one, or any server that speaks the OpenAI protocol.

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
            here as well: input_cost_per_token and output_cost_per_token, in US dollars.

    Raises:
        ConfigError: a parameter makes no sense, or would put a key into the configuration.
    """

    requires: ClassVar[Mapping[str, str]] = {"litellm": "convrag[litellm]"}
    endpoint_class = LitellmEndpoint
    env_vars = tuple(name for names in KEY_VARIABLES.values() for name in names)

    def check(self) -> Iterable[str]:
        """As every option; of litellm's providers, Anthropic alone is sent batches."""
        yield from super().check()
        if self.batch and self.endpoint.provider != "anthropic":
            yield (
                "{place}.batch=true is for Anthropic ({place}.model=anthropic/...) and for servers of OpenAI's batch "
                "protocol: choose {place}=openai_compatible for these"
            )

    def load_libraries(self) -> None:
        """Import the libraries of the first request, litellm too."""
        super().load_libraries()
        self._library()

    def ask(
        self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None
    ) -> Reply:
        """Send one request. Raises what litellm raises, too."""
        from convrag_llms import _litellm

        key = self.endpoint.api_key() or (
            _PLACEHOLDER_KEY if self.endpoint.is_self_hosted() else None
        )
        secrets = {"api_base": self.endpoint.address(), "api_key": key}
        request = {**body, **secrets, "timeout": timeout}
        if self.batch and on_piece is None:
            return halve_cost(self._read_response(_litellm.complete(request, self._ask_batch)))
        if on_piece is None:
            return self._read_response(_litellm.complete(request))
        with _litellm.stream(request) as chunks:
            return self._read_stream(chunks, on_piece)

    def batch_protocol(self) -> BatchProtocol:
        """Anthropic's, to the address and with the headers of litellm's last request."""
        from convrag_llms.batch_protocols import AnthropicBatches

        return AnthropicBatches(lambda path: (f"{self._url}{path}", self._headers))

    def _ask_batch(self, url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Wait for the reply to a request that litellm made for Anthropic. Raises as `Batches.ask`."""
        self._url, self._headers = (
            url,
            {name: each for name, each in headers.items() if name not in _OF_ONE_REQUEST},
        )
        return json.dumps(self._batches.ask(json.loads(body))).encode()

    def count_tokens(self, text: str) -> int:
        """Tokens as litellm counts them for this model; approximate where it has no tokenizer for
        it.
        """
        return int(self._library().token_counter(model=self.endpoint.model, text=text))

    def find_prices(self) -> TokenPrices | None:
        """The user's prices, else the highest prices in litellm's list."""
        if self.given_prices:
            return self.given_prices
        try:
            info = self._library().get_model_info(self.endpoint.model)
        except Exception:  # a bare Exception for a model that is not in its list
            return None
        if info.get("input_cost_per_token") is None:
            return None
        asked, written = (
            max(
                [float(rate) for name, rate in info.items() if rate and _is_rate(name, kinds)],
                default=0.0,
            )
            for kinds in (
                ("input_cost_per_token", "cache_creation_input_token_cost"),
                ("output_cost_per_token",),
            )
        )
        return TokenPrices(asked, written, info.get("max_output_tokens"))

    def _library(self) -> Any:
        from convrag_llms._litellm import load_library

        return load_library()

    def _read_response(self, response: Any) -> Reply:
        return read_reply(
            _to_plain(response), self.endpoint.model, lambda *_: self._compute_cost(response)
        )

    def _read_stream(self, chunks: Any, on_piece: Callable[[str], None]) -> Reply:
        model = self.endpoint.model
        streamed = StreamedReply(on_piece, model)
        # litellm adds a finish reason to any stream that stops; this one says whether the server
        # sent it.
        streamed.read(
            map(_to_plain, chunks),
            lambda: getattr(chunks, "received_finish_reason", "unknown") is not None,
        )
        usage = streamed.usage
        cost = (
            self._compute_cost(self._library().ModelResponse(model=model, usage=usage))
            if usage
            else None
        )
        return make_reply(
            streamed.text, streamed.finish_reason, TokenCounts.read(usage), cost, streamed.model
        )

    def _compute_cost(self, response: Any) -> float | None:
        """US dollars of a response, or None where litellm knows no price. It computes them itself
        for a whole one.
        """
        hidden = getattr(response, "_hidden_params", None) or {}
        if "response_cost" in hidden:
            known = hidden["response_cost"]
            return None if known is None else float(known)
        try:
            return float(
                self._library().completion_cost(
                    completion_response=response, model=self.endpoint.model
                )
            )
        except Exception:  # litellm raises many kinds for a model without a price
            return None


def _is_rate(name: str, kinds: tuple[str, ...]) -> bool:
    return name.startswith(kinds) and not name.endswith("_batches")


def _to_plain(response: Any) -> dict[str, Any]:
    plain: dict[str, Any] = response.model_dump(
        warnings=False
    )  # litellm's types do not hold what they say
    return plain
