"""Asks a model through litellm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from convrag_llms.endpoint import Endpoint
from convrag_llms.prices import TokenPrices, read_given_prices
from convrag_llms.reply import Chunk, Reply, StreamedReply, TokenCounts, make_reply

_PLACEHOLDER_KEY = "not-needed"  # OpenAI's client insists on a key; a local server does not look at it


class LitellmEndpoint(Endpoint):
    """An endpoint of any provider that litellm knows."""

    def find_missing_keys(self) -> Sequence[str]:
        """The variables of the provider's key; for the usual providers they are known without importing litellm."""
        if (known := super().find_missing_keys()) is not None:
            return known
        from convrag_llms._litellm import load_library

        return [str(name) for name in load_library().validate_environment(self.model)["missing_keys"]]


class LiteLLMClient:
    """Asks the model of an endpoint through litellm (see `ModelClient`).

    Args:
        endpoint: where it is.
        extra: the user's further parameters; it reads the prices among them, for the cost limit.
    """

    def __init__(self, endpoint: Endpoint, extra: Mapping[str, Any]) -> None:
        self.endpoint = endpoint
        self._given_prices = read_given_prices(extra)

    def load(self) -> None:
        """Import litellm."""
        self._library()

    def ask(self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None) -> Reply:
        """Send one request. Raises what litellm raises, too."""
        from convrag_llms import _litellm

        key = self.endpoint.api_key() or (_PLACEHOLDER_KEY if self.endpoint.is_self_hosted() else None)
        secrets = {"api_base": self.endpoint.address(), "api_key": key}
        request = {**body, **secrets, "timeout": timeout}
        if on_piece is None:
            return self._read_response(_litellm.complete(request))
        with _litellm.stream(request) as chunks:
            return self._read_stream(chunks, on_piece)

    def count_tokens(self, text: str) -> int:
        """Tokens as litellm counts them for this model; approximate where it has no tokenizer for it."""
        return int(self._library().token_counter(model=self.endpoint.model, text=text))

    def find_prices(self) -> TokenPrices | None:
        """The user's prices, else the highest prices in litellm's list."""
        if self._given_prices:
            return self._given_prices
        try:
            info = self._library().get_model_info(self.endpoint.model)
        except Exception:  # a bare Exception for a model that is not in its list
            return None
        if info.get("input_cost_per_token") is None:
            return None
        asked, written = (
            max([float(rate) for name, rate in info.items() if rate and _is_rate(name, kinds)], default=0.0)
            for kinds in (("input_cost_per_token", "cache_creation_input_token_cost"), ("output_cost_per_token",))
        )
        return TokenPrices(asked, written, info.get("max_output_tokens"))

    def _library(self) -> Any:
        from convrag_llms._litellm import load_library

        return load_library()

    def _read_response(self, response: Any) -> Reply:
        model = self.endpoint.model
        choice = response.choices[0] if getattr(response, "choices", None) else None
        text = getattr(getattr(choice, "message", None), "content", None)
        finish_reason = choice.finish_reason if choice else "no choices"
        served_model = getattr(response, "model", None) or model
        tokens = _read_usage(getattr(response, "usage", None))
        return make_reply(text, finish_reason, tokens, self._compute_cost(response), served_model)

    def _read_stream(self, chunks: Iterable[Any], on_piece: Callable[[str], None]) -> Reply:
        model = self.endpoint.model
        streamed = StreamedReply(on_piece, model)
        # litellm adds a finish reason to any stream that stops; this one says whether the server sent it.
        streamed.read(
            map(_read_chunk, chunks), lambda: getattr(chunks, "received_finish_reason", "unknown") is not None
        )
        usage = streamed.usage
        cost = self._compute_cost(self._library().ModelResponse(model=model, usage=usage)) if usage else None
        return make_reply(streamed.text, streamed.finish_reason, _read_usage(usage), cost, streamed.model)

    def _compute_cost(self, response: Any) -> float | None:
        """US dollars of a response, or None where litellm knows no price. It computes them itself for a whole one."""
        hidden = getattr(response, "_hidden_params", None) or {}
        if "response_cost" in hidden:
            known = hidden["response_cost"]
            return None if known is None else float(known)
        try:
            return float(self._library().completion_cost(completion_response=response, model=self.endpoint.model))
        except Exception:  # litellm raises many kinds for a model without a price
            return None


def _is_rate(name: str, kinds: tuple[str, ...]) -> bool:
    return name.startswith(kinds) and not name.endswith("_batches")


def _read_chunk(chunk: Any) -> Chunk:
    choices = [each for each in getattr(chunk, "choices", None) or [] if not getattr(each, "index", None)]
    found = [(getattr(each.delta, "content", None), each.finish_reason) for each in choices]
    return Chunk(found, getattr(chunk, "usage", None), getattr(chunk, "model", None))


def _read_usage(usage: Any) -> TokenCounts:
    details = getattr(usage, "prompt_tokens_details", None)
    return TokenCounts.read(
        getattr(usage, "prompt_tokens", None),
        getattr(usage, "completion_tokens", None),
        getattr(details, "cached_tokens", None),
    )
