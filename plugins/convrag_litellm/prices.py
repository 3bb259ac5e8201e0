"""What a request can cost at most, before it is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from convrag import Message

_FRAME = 16  # tokens that a chat template may put around a message; generous


class Prices:
    """The dearest rates of a model: those given (`input_cost_per_token`, ...), else those in litellm's list."""

    def __init__(self, model: str, given: Mapping[str, Any]) -> None:
        self.model = model
        self.given = given

    def problem(self, max_tokens: Any) -> str:
        """Why the most that a request costs cannot be known; empty where it can."""
        if (rates := self._rates()) is None:
            return (
                f"litellm knows no price for {self.model}. Give it in llm.extra, as input_cost_per_token and "
                "output_cost_per_token, or set llm.max_cost_usd=null"
            )
        return "" if max_tokens or rates[2] else "replies have no longest length: set llm.max_tokens"

    def most(self, messages: Sequence[Message], max_tokens: Any) -> float:
        """US dollars: a token for each byte of the prompt, which no tokenizer exceeds, and a reply of full length."""
        if (rates := self._rates()) is None:
            return float("inf")
        read, write, longest = rates
        prompt = sum(len(message.content.encode()) + _FRAME for message in messages) + _FRAME
        return prompt * read + float(max_tokens or longest or "inf") * write

    def _rates(self) -> tuple[float, float, int | None] | None:
        from convrag_litellm import _litellm

        if "input_cost_per_token" in self.given:
            written = float(self.given.get("output_cost_per_token", 0.0))
            return float(self.given["input_cost_per_token"]), written, None
        return _litellm.price(self.model)
