"""Prices of tokens: the user's own, and those that providers list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from convrag import ConfigError, Message
from convrag_llms.endpoint import is_private

INPUT_PRICE = "input_cost_per_token"
OUTPUT_PRICE = "output_cost_per_token"
CACHED_PRICE = "cache_read_input_token_cost"
REQUEST_PRICE = "input_cost_per_query"

PRICE_NAMES = (INPUT_PRICE, OUTPUT_PRICE, CACHED_PRICE, REQUEST_PRICE)
"""The names of a user's prices in `llm.extra`, which are litellm's, too."""

BATCH_SHARE = 0.5
"""The price of a request of a batch, as a share of its usual price.

It is the same for OpenAI, Anthropic and most others.
"""

_TEMPLATE_TOKENS = 16
"""Tokens that a chat template may add to a message, and to the prompt; generous."""

_MANY = 10**9
"""Tokens of a prompt that is long enough for the rate of the highest tier."""


class TokenPrices(NamedTuple):
    """The highest prices of a model's tokens, in US dollars per token.

    Args:
        input_price: of a token of the prompt.
        output_price: of a token of the reply.
        max_output_tokens: the longest reply in tokens; None where it is not known.
        cached_price: of a token of the prompt that the provider had in its cache; None for
            `input_price`.
        request_price: of a request, whatever its tokens, in US dollars; rerankers have it.
    """

    input_price: float
    output_price: float
    max_output_tokens: int | None = None
    cached_price: float | None = None
    request_price: float = 0.0

    def compute_cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Compute the cost of a request with so many tokens, `cached` being a part of `prompt`."""
        cached = min(cached, prompt)
        cached_price = self.input_price if self.cached_price is None else self.cached_price
        prompt_cost = (prompt - cached) * self.input_price + cached * cached_price
        return self.request_price + prompt_cost + completion * self.output_price

    def find_longest(self, max_tokens: Any) -> float:
        """Find the longest reply in tokens that may have to be paid; infinite without a limit."""
        if not self.output_price:
            return 0.0
        return float(max_tokens or self.max_output_tokens or math.inf)

    def compute_max_cost(self, messages: Sequence[Message], max_tokens: Any) -> float:
        """Compute the most that a request can cost, with a reply of full length.

        The prompt counts a token for each byte, which no tokenizer exceeds.
        """
        message_bytes = sum(len(message.content.encode()) for message in messages)
        prompt_tokens = message_bytes + _TEMPLATE_TOKENS * (len(messages) + 1)
        input_price = max(self.input_price, self.cached_price or 0.0)
        reply_price = self.find_longest(max_tokens) * self.output_price
        return self.request_price + prompt_tokens * input_price + reply_price


def read_given_prices(extra: Mapping[str, Any], place: str = "llm") -> TokenPrices | None:
    """Read the prices that a user gave in `llm.extra`; None without any.

    Args:
        extra: the parameter of that name.
        place: of the stage in the configuration, for messages. Only a language model has an output
            that is paid.

    Raises:
        ConfigError: a price is missing or not a price: a cost limit that rests on half of the
            prices would be passed without a word.
    """
    given = {
        name: _read_price(f"{place}.extra.{name}", extra[name])
        for name in PRICE_NAMES
        if extra.get(name) is not None
    }
    if not given:
        return None
    if place != "llm":
        given.setdefault(OUTPUT_PRICE, 0.0)
        given = {INPUT_PRICE: 0.0, **given} if REQUEST_PRICE in given else given
    for missing in (INPUT_PRICE, OUTPUT_PRICE):
        if missing not in given:
            names = " and ".join(given)
            raise ConfigError(
                f"{place}.extra has {names} without {missing}: give it as well, in US dollars per "
                "token (0 where these tokens cost nothing)"
            )
    return TokenPrices(
        given[INPUT_PRICE],
        given[OUTPUT_PRICE],
        None,
        given.get(CACHED_PRICE),
        given.get(REQUEST_PRICE, 0.0),
    )


def _read_price(name: str, value: Any) -> float:
    """Read a price. Raises ConfigError unless it is a number from 0 on."""
    try:
        price = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        price = math.nan
    if not 0 <= price < math.inf:
        raise ConfigError(f"{name}={value!r} is not a price in US dollars, such as 3e-06")
    return price


def find_server_prices(given: TokenPrices | None, model: str, address: str) -> TokenPrices | None:
    """Return the user's prices, else those that the provider lists; None where there are none.

    A server on this machine or in a private network costs nothing.
    """
    if given:
        return given
    if is_private(address):
        return TokenPrices(0.0, 0.0)
    return find_listed_prices(model, address)


def compute_server_cost(
    given: TokenPrices | None,
    model: str,
    address: str,
    prompt: int,
    completion: int = 0,
    cached: int = 0,
) -> float | None:
    """Compute the cost of a request as `find_server_prices` has its prices: US dollars or None."""
    if given:
        return given.compute_cost(prompt, completion, cached)
    if is_private(address):
        return 0.0
    return compute_listed_cost(model, address, prompt, completion, cached)


def describe_missing_price(limit: float, model: str, output_price: str) -> str:
    """Say that a cost limit cannot be kept, as a problem of a check.

    Args:
        limit: US dollars.
        model: whose price is not known.
        output_price: the name of the second price that is needed; empty for none.
    """
    names = " and ".join(filter(None, (INPUT_PRICE, output_price)))
    return (
        f"{{place}}.max_cost_usd={limit:g} cannot be kept: no price is known for {model}. Give it "
        f"in {{place}}.extra, as {names}, or set {{place}}.max_cost_usd=null"
    )


def compute_listed_cost(
    model: str, address: str, prompt: int, completion: int, cached: int = 0
) -> float | None:
    """Compute the cost of a request at its provider's list prices, from the package genai-prices.

    Args:
        model: as the provider names it.
        address: the provider's, by which genai-prices finds it.
        prompt: tokens of the prompt.
        completion: tokens of the reply.
        cached: the part of the prompt's tokens that the provider had in its cache.

    Returns:
        US dollars; None for a provider or a model that is not listed.
    """
    from genai_prices import Usage, calc_price  # takes a third of a second: for paid models alone

    usage = Usage(
        input_tokens=prompt, output_tokens=completion, cache_read_tokens=min(cached, prompt)
    )
    try:
        return float(calc_price(usage, model, provider_api_url=address).total_price)
    except LookupError:
        return None


def find_listed_prices(model: str, address: str) -> TokenPrices | None:
    """Find the highest list prices of a model; None for one that its provider does not list."""
    input_cost = compute_listed_cost(model, address, _MANY, 0)
    whole_cost = compute_listed_cost(model, address, _MANY, _MANY)
    if input_cost is None or whole_cost is None:
        return None
    return TokenPrices(input_cost / _MANY, (whole_cost - input_cost) / _MANY)


def compute_batch_cost(cost: float | None) -> float | None:
    """Compute what a request costs in a batch; None where its usual cost is not known."""
    return None if cost is None else cost * BATCH_SHARE
