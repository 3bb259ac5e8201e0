"""What a server sent, as a text with its usage; nothing is taken for a reply that says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from convrag_litellm import _litellm


@dataclass(frozen=True)
class Reply:
    """A text and what it took. Tokens are None where the server does not say, the cost where nobody knows."""

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int
    cost: float | None
    model: str


class EmptyReply(Exception):
    """The server answered without saying anything, which may have cost something all the same."""

    def __init__(self, finish: str, cost: float | None) -> None:
        self.cost = cost
        super().__init__(f"the reply is empty (finish_reason: {finish})")


class CutOff(Exception):
    """A streamed reply ended before its end."""

    status_code = 502


def whole(response: Any, model: str) -> Reply:
    """A reply in one piece. Raises EmptyReply."""
    choice = response.choices[0] if getattr(response, "choices", None) else None
    text = getattr(getattr(choice, "message", None), "content", None)
    finish = choice.finish_reason if choice else "no choices"
    served = getattr(response, "model", None) or model
    return _reply(text, finish, getattr(response, "usage", None), _litellm.cost(response, model), served)


def pieces(chunks: Iterable[Any], model: str, hear: Callable[[str], None]) -> Reply:
    """A reply in pieces, each handed to `hear` as it comes. Raises EmptyReply, and CutOff."""
    heard: list[str] = []
    finish, usage, served = "none", None, model
    for chunk in chunks:
        usage = getattr(chunk, "usage", None) or usage
        served = getattr(chunk, "model", None) or served
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            finish = choice.finish_reason or finish
            if piece := getattr(choice.delta, "content", None):
                heard.append(piece)
                hear(piece)
    if not _litellm.came_to_an_end(chunks):
        raise CutOff("the connection ended in the middle of the reply")
    return _reply("".join(heard), finish, usage, _litellm.cost_of_usage(usage, model) if usage else None, served)


def _reply(text: Any, finish: Any, usage: Any, cost: float | None, model: str) -> Reply:
    if not isinstance(text, str) or not text.strip():
        raise EmptyReply(str(finish), cost)
    details = getattr(usage, "prompt_tokens_details", None)
    return Reply(
        text.strip(),
        _number(getattr(usage, "prompt_tokens", None)),
        _number(getattr(usage, "completion_tokens", None)),
        _number(getattr(details, "cached_tokens", None)) or 0,
        cost,
        str(model),
    )


def _number(value: Any) -> int | None:
    """A count, which litellm makes 0 where the server gave none."""
    return int(value) if isinstance(value, int | float) and value > 0 else None
