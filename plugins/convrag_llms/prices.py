"""The most that a request can cost, before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convrag import Message
from convrag_llms.client import TokenPrices

_TEMPLATE_TOKENS = 16  # that a chat template may add to a message, and to the prompt; generous


class ModelPrices:
    """The highest prices of a model's tokens.

    Args:
        model: named in messages.
        given: the user's own prices (`input_cost_per_token`, `output_cost_per_token`, US dollars), which count instead
            of those that `find` finds.
        find: finds the prices of the model; None where it knows none.
    """

    def __init__(self, model: str, given: Mapping[str, Any], find: Callable[[], TokenPrices | None]) -> None:
        self.model = model
        self._given = read_given_prices(given)
        self._find = find

    def problem(self, max_tokens: Any) -> str:
        """Why the most that a request costs cannot be known, and what to do; empty where it can."""
        if (prices := self._find_prices()) is None:
            return (
                f"no price is known for {self.model}. Give it in llm.extra, as input_cost_per_token and "
                "output_cost_per_token, or set llm.max_cost_usd=null"
            )
        is_bounded = max_tokens or prices.max_output_tokens or not prices.output_price
        return "" if is_bounded else "replies have no longest length: set llm.max_tokens"

    def compute_max_cost(self, messages: Sequence[Message], max_tokens: Any) -> float:
        """US dollars for a token per byte of the prompt, which no tokenizer exceeds, and a reply of full length."""
        if (prices := self._find_prices()) is None:
            return float("inf")
        input_price, output_price, max_output_tokens = prices
        prompt_tokens = sum(len(message.content.encode()) + _TEMPLATE_TOKENS for message in messages) + _TEMPLATE_TOKENS
        longest = float(max_tokens or max_output_tokens or "inf") * output_price if output_price else 0.0
        return prompt_tokens * input_price + longest

    def _find_prices(self) -> TokenPrices | None:
        return self._given or self._find()


def read_given_prices(extra: Mapping[str, Any]) -> TokenPrices | None:
    """The prices that a user gave among other parameters; None without any."""
    if "input_cost_per_token" not in extra:
        return None
    return TokenPrices(float(extra["input_cost_per_token"]), float(extra.get("output_cost_per_token", 0.0)), None)
