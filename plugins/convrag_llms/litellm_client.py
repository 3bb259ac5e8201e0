"""Asks a model through litellm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from convrag_llms import _litellm, providers
from convrag_llms.client import TokenPrices
from convrag_llms.endpoint import Endpoint
from convrag_llms.reply import IncompleteStream, Reply, StreamedText, TokenCounts, make_reply

_PLACEHOLDER_KEY = "not-needed"  # OpenAI's client insists on a key; a local server does not look at it


class LitellmEndpoint(Endpoint):
    """An endpoint of any provider that litellm knows."""

    def find_missing_keys(self) -> Sequence[str]:
        """Those of the usual providers are known without litellm."""
        known = providers.find_missing_keys(self.provider)
        return _litellm.find_missing_keys(self.model) if known is None else known


class LiteLLMClient:
    """Asks the model of an endpoint through litellm (see `ModelClient`)."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def load(self) -> None:
        """Import litellm."""
        _litellm.load_library()

    def ask(self, body: Mapping[str, Any], timeout: float, on_piece: Callable[[str], None] | None) -> Reply:
        """Send one request. Raises what litellm raises, too."""
        key = self.endpoint.api_key() or (_PLACEHOLDER_KEY if self.endpoint.is_self_hosted() else None)
        secrets = {"api_base": self.endpoint.address(), "api_key": key}
        request = {**body, **secrets, "timeout": timeout}
        if on_piece is None:
            return _read_response(_litellm.complete(request), self.endpoint.model)
        with _litellm.stream(request) as chunks:
            return _read_stream(chunks, self.endpoint.model, on_piece)

    def count_tokens(self, text: str) -> int:
        """Tokens as litellm counts them for this model; approximate where it has no tokenizer for it."""
        return _litellm.count_tokens(self.endpoint.model, text)

    def find_prices(self) -> TokenPrices | None:
        """The prices in litellm's list."""
        return _litellm.find_prices(self.endpoint.model)

    def find_max_input_tokens(self) -> int | None:
        """The limit in litellm's list."""
        return _litellm.find_max_input_tokens(self.endpoint.model)


def _read_response(response: Any, model: str) -> Reply:
    choice = response.choices[0] if getattr(response, "choices", None) else None
    text = getattr(getattr(choice, "message", None), "content", None)
    finish_reason = choice.finish_reason if choice else "no choices"
    served_model = getattr(response, "model", None) or model
    cost = _litellm.compute_cost(response, model)
    return make_reply(text, finish_reason, _read_usage(getattr(response, "usage", None)), cost, served_model)


def _read_stream(chunks: Iterable[Any], model: str, on_piece: Callable[[str], None]) -> Reply:
    text = StreamedText(on_piece)
    usage, served_model = None, model
    try:
        for chunk in chunks:
            usage = getattr(chunk, "usage", None) or usage
            served_model = getattr(chunk, "model", None) or served_model
            for choice in getattr(chunk, "choices", None) or []:
                if not getattr(choice, "index", None):
                    text.add(getattr(choice.delta, "content", None), choice.finish_reason)
    except Exception:
        if not text.is_finished or not _litellm.is_complete(chunks):
            raise  # else only the usage is missing, which comes after the text
    if not _litellm.is_complete(chunks):
        raise IncompleteStream
    cost = _litellm.compute_cost_of_usage(usage, model) if usage else None
    return make_reply(text.text, text.finish_reason or "none", _read_usage(usage), cost, served_model)


def _read_usage(usage: Any) -> TokenCounts:
    details = getattr(usage, "prompt_tokens_details", None)
    return TokenCounts.read(
        getattr(usage, "prompt_tokens", None),
        getattr(usage, "completion_tokens", None),
        getattr(details, "cached_tokens", None),
    )
