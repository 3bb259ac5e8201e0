"""What requests cost: the most before they are sent, and by the prices of providers once their tokens are counted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from convrag import Message

_TEMPLATE_TOKENS = 16  # that a chat template may add to a message, and to the prompt; generous
_MANY = 10**9  # tokens: so long a prompt costs the rate of the highest tier


class TokenPrices(NamedTuple):
    """US dollars for a token of the input and of the output, at the highest rates, and the longest output in tokens."""

    input_price: float
    output_price: float
    max_output_tokens: int | None


class ModelPrices:
    """The highest prices of a model's tokens.

    Args:
        model: named in messages.
        find: finds the prices of the model; None where it knows none.
    """

    def __init__(self, model: str, find: Callable[[], TokenPrices | None]) -> None:
        self.model = model
        self._find = find

    def problem(self, max_tokens: Any) -> str:
        """Why the most that a request costs cannot be known, and what to do; empty where it can."""
        if (prices := self._find()) is None:
            return (
                f"no price is known for {self.model}. Give it in llm.extra, as input_cost_per_token and "
                "output_cost_per_token, or set llm.max_cost_usd=null"
            )
        is_bounded = max_tokens or prices.max_output_tokens or not prices.output_price
        return "" if is_bounded else "replies have no longest length: set llm.max_tokens"

    def compute_max_cost(self, messages: Sequence[Message], max_tokens: Any) -> float:
        """US dollars for a token per byte of the prompt, which no tokenizer exceeds, and a reply of full length."""
        if (prices := self._find()) is None:
            return float("inf")
        input_price, output_price, max_output_tokens = prices
        prompt_tokens = sum(len(message.content.encode()) + _TEMPLATE_TOKENS for message in messages) + _TEMPLATE_TOKENS
        longest = float(max_tokens or max_output_tokens or "inf") * output_price if output_price else 0.0
        return prompt_tokens * input_price + longest


def read_given_prices(extra: Mapping[str, Any]) -> TokenPrices | None:
    """The prices that a user gave among other parameters; None without any."""
    if "input_cost_per_token" not in extra:
        return None
    return TokenPrices(float(extra["input_cost_per_token"]), float(extra.get("output_cost_per_token", 0.0)), None)


def compute_listed_cost(model: str, address: str, prompt: int, completion: int, cached: int = 0) -> float | None:
    """US dollars of a request at the prices that its provider lists, as the package genai-prices has them.

    Args:
        model: as the provider names it.
        address: the provider's, by which genai-prices finds it.
        prompt: tokens of the prompt.
        completion: tokens of the reply.
        cached: the part of the prompt's tokens that the provider had in its cache.

    Returns:
        The cost; None for a provider or a model that is not listed.
    """
    from genai_prices import Usage, calc_price  # a third of a second, for paid models alone

    usage = Usage(input_tokens=prompt, output_tokens=completion, cache_read_tokens=min(cached, prompt))
    try:
        return float(calc_price(usage, model, provider_api_url=address).total_price)
    except LookupError:
        return None


def find_listed_prices(model: str, address: str) -> TokenPrices | None:
    """The highest prices that a provider lists for a model; None for a provider or a model that is not listed."""
    asked, written = (compute_listed_cost(model, address, _MANY, completion) for completion in (0, _MANY))
    if asked is None or written is None:
        return None
    return TokenPrices(asked / _MANY, (written - asked) / _MANY, None)
