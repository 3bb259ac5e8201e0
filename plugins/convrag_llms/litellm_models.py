"""The base of the embedder and the ranker that ask through litellm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from convrag_llms.litellm_llm import LitellmEndpoint, find_litellm_key
from convrag_llms.prices import INPUT_PRICE, PRICE_NAMES, REQUEST_PRICE, TokenPrices
from convrag_llms.server_stage import ServerStage


@dataclass(kw_only=True, eq=False)
class LitellmStage(ServerStage):
    """A stage whose requests litellm sends."""

    endpoint_class = LitellmEndpoint

    def load_libraries(self) -> None:
        """Import the libraries of the first request, litellm too."""
        from convrag_llms.litellm_library import load_library

        super().load_libraries()
        load_library()

    def find_prices(self) -> TokenPrices | None:
        """Return the user's prices, else those in litellm's list."""
        if self.given_prices:
            return self.given_prices
        from convrag_llms.litellm_library import load_library

        try:
            info = load_library().get_model_info(self.endpoint.model)
        except Exception:  # a bare Exception for a model that is not in its list
            return None
        prices = (info.get(INPUT_PRICE), info.get(REQUEST_PRICE))
        if prices == (None, None):
            return None
        return TokenPrices(prices[0] or 0.0, 0.0, request_price=prices[1] or 0.0)

    def call_library(
        self, function: Literal["embedding", "rerank"], body: Mapping[str, Any], timeout: float
    ) -> Any:
        """Return litellm's response to one request. Raises what litellm raises."""
        from convrag_llms.litellm_library import call_function

        request = {name: value for name, value in body.items() if name not in PRICE_NAMES}
        request |= {
            "api_base": self.endpoint.address(),
            "api_key": find_litellm_key(self.endpoint),
            "timeout": timeout,
        }
        return call_function(function, request)

    def compute_cost(self, response: Any, tokens: int) -> float | None:
        """Compute the US dollars of a response; None where no price is known."""
        if self.given_prices:
            return self.given_prices.compute_cost(tokens, 0)
        hidden = getattr(response, "_hidden_params", None) or {}
        cost = hidden.get("response_cost")
        if cost:  # litellm counts 0 where a reply does not say what is billed
            return float(cost)
        prices = self.find_prices()
        return None if prices is None else prices.compute_cost(tokens, 0)
