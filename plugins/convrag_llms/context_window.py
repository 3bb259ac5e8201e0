"""Requests that exceed a model's context window: how servers report them, and the token counts that they report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from convrag_llms.error_text import MAX_READ
from convrag_llms.http_errors import read_status

_MENTION = re.compile(r"context[\s_-]*(length|window|size|limit)|(prompt|input) is too long", re.IGNORECASE)
_NUMBER = r"(\d[\d,]{0,15})"

_REQUESTED = [
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


def exceeds_context_window(error: BaseException) -> bool:
    """Whether an error says that the request is longer than the model's context window.

    litellm recognises some servers' messages, and this the others'; they come with any status but 429, whose messages
    count tokens as well.
    """
    if type(error).__name__ == "ContextWindowExceededError":
        return True
    message = str(error)[:MAX_READ]
    return read_status(error) != 429 and bool(_MENTION.search(message) or parse_token_counts(message))


def parse_token_counts(message: str) -> tuple[int, int] | None:
    """The tokens that were requested (prompt and reply) and the most that the model takes, from a server's message.

    None where the message lacks either number, or the request is within the limit.
    """
    message = message[:MAX_READ]  # a search for two numbers takes longer by the square of the length
    for pattern, pick in _BOTH:
        if found := re.search(pattern, message, re.IGNORECASE | re.DOTALL):
            requested, limit = pick([_parse_int(number) for number in found.groups()])
            return (requested, limit) if requested > limit else None
    first_requested, first_limit = _find_number(_REQUESTED, message), _find_number(_LIMIT, message)
    if first_requested and first_limit and first_requested > first_limit:
        return first_requested, first_limit
    return None


def _find_number(patterns: list[str], message: str) -> int | None:
    found = (re.search(pattern, message, re.IGNORECASE) for pattern in patterns)
    return next((_parse_int(match[1]) for match in found if match), None)


def _parse_int(number: str) -> int:
    return int(number.replace(",", ""))
