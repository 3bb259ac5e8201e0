"""By how many tokens a prompt is too long, from what servers say about it in their different ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_NUMBER = r"(\d[\d,]*)"

_ASKED = [
    # OpenAI, vLLM: "However, you requested 5000 tokens (4488 in the messages, 512 in the completion)"
    rf"requested (?:a total of )?{_NUMBER} tokens",
    # OpenAI: "However, your messages resulted in 9000 tokens."
    rf"resulted in {_NUMBER} tokens",
    # llama.cpp: "the request (4210 tokens) exceeds the available context size (4096 tokens)"
    rf"request \({_NUMBER} tokens\)",
    # Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    rf"token count \({_NUMBER}\)",
    # vLLM: "your request has 4000 input tokens", "your prompt contains at least 4001 input tokens"
    rf"(?:has|contains) (?:at least )?{_NUMBER} input tokens",
]
_LIMIT = [
    rf"maximum context length (?:is|of) (?:only )?{_NUMBER}",
    rf"context size \({_NUMBER} tokens\)",
    rf"tokens allowed \({_NUMBER}\)",
]
_BOTH: list[tuple[str, Callable[[Sequence[int]], tuple[int, int]]]] = [
    # Anthropic: "prompt is too long: 210000 tokens > 200000 maximum"
    (rf"too long: {_NUMBER} tokens > {_NUMBER}", lambda found: (found[0], found[1])),
    # Anthropic: "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"
    (rf"context limit: {_NUMBER} \+ {_NUMBER} > {_NUMBER}", lambda found: (found[0] + found[1], found[2])),
    # Together: "`inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and 512 `max_new..."
    (
        rf"must be <= {_NUMBER}\.? Given: {_NUMBER} `inputs` tokens and {_NUMBER}",
        lambda found: (found[1] + found[2], found[0]),
    ),
    # vLLM: "'max_tokens' is too large: 512. This model's maximum context length is 4096 tokens and your request has
    # 4000 input tokens"
    (
        rf"too large: {_NUMBER}\..*?context length is {_NUMBER} tokens and your request has {_NUMBER} input",
        lambda found: (found[0] + found[2], found[1]),
    ),
]


def asked_and_limit(said: str) -> tuple[int, int] | None:
    """The tokens that a request asked for, its reply's included, and those that the model takes; None if not said."""
    for pattern, pick in _BOTH:
        if found := re.search(pattern, said, re.IGNORECASE | re.DOTALL):
            asked, limit = pick([_int(number) for number in found.groups()])
            return (asked, limit) if asked > limit else None
    asked_, limit_ = _first(_ASKED, said), _first(_LIMIT, said)
    return (asked_, limit_) if asked_ and limit_ and asked_ > limit_ else None


def _first(patterns: list[str], said: str) -> int | None:
    found = (re.search(pattern, said, re.IGNORECASE) for pattern in patterns)
    return next((_int(match[1]) for match in found if match), None)


def _int(number: str) -> int:
    return int(number.replace(",", ""))
