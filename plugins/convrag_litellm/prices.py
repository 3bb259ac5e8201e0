"""The most that a request can cost, before it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convrag import Message

_TEMPLATE_TOKENS = 16  # that a chat template may add to a message, and to the prompt; generous


class ModelPrices:
    """The highest prices of a model's tokens.

    Args:
        model: as litellm names it.
        given: the user's own prices (`input_cost_per_token`, `output_cost_per_token`, US dollars), which count instead
            of those in litellm's list.
    """

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        self.model = model
        self.given = given

    def problem(self, max_tokens: Any) -> str:
        """Why the most that a request costs cannot be known, and what to do; empty where it can."""
        if (prices := self._find_prices()) is None:
            return (
                f"litellm knows no price for {self.model}. Give it in llm.extra, as input_cost_per_token and "
                "output_cost_per_token, or set llm.max_cost_usd=null"
            )
        return "" if max_tokens or prices[2] else "replies have no longest length: set llm.max_tokens"

    def compute_max_cost(self, messages: Sequence[Message], max_tokens: Any) -> float:
        """US dollars for a token per byte of the prompt, which no tokenizer exceeds, and a reply of full length."""
        if (prices := self._find_prices()) is None:
            return float("inf")
        input_price, output_price, max_output_tokens = prices
        prompt_tokens = sum(len(message.content.encode()) + _TEMPLATE_TOKENS for message in messages) + _TEMPLATE_TOKENS
        return prompt_tokens * input_price + float(max_tokens or max_output_tokens or "inf") * output_price

    def _find_prices(self) -> tuple[float, float, int | None] | None:
        """The price of an input token and of an output token, and the model's longest output where it is known."""
        from convrag_litellm import _litellm

        if "input_cost_per_token" in self.given:
            output_price = float(self.given.get("output_cost_per_token", 0.0))
            return float(self.given["input_cost_per_token"]), output_price, None
        return _litellm.find_prices(self.model)
