"""A server's response as a text with its usage; an empty or cut-off one is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from convrag_litellm import _litellm


@dataclass(frozen=True)
class Reply:
    """A text and its usage; the cost is in US dollars.

    Tokens are None where the server does not report them, the cost where no price is known.
    """

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int
    cost: float | None
    model: str


class EmptyReply(Exception):
    """The server sent no text, which may have cost something all the same."""

    def __init__(self, finish_reason: str, cost: float | None) -> None:
        self.cost = cost
        super().__init__(f"the reply is empty (finish_reason: {finish_reason})")


class IncompleteStream(Exception):
    """The connection of a streamed reply ended before the reply did."""

    status_code = 502


def read_response(response: Any, model: str) -> Reply:
    """A response in one piece -> a Reply. Raises EmptyReply."""
    choice = response.choices[0] if getattr(response, "choices", None) else None
    text = getattr(getattr(choice, "message", None), "content", None)
    finish_reason = choice.finish_reason if choice else "no choices"
    served_model = getattr(response, "model", None) or model
    cost = _litellm.compute_cost(response, model)
    return _make_reply(text, finish_reason, getattr(response, "usage", None), cost, served_model)


def read_stream(chunks: Iterable[Any], model: str, on_piece: Callable[[str], None]) -> Reply:
    """A streamed response -> a Reply; each piece of its text is given to `on_piece` as it arrives.

    Raises EmptyReply and IncompleteStream.
    """
    pieces: list[str] = []
    finish_reason, usage, served_model = "none", None, model
    for chunk in chunks:
        usage = getattr(chunk, "usage", None) or usage
        served_model = getattr(chunk, "model", None) or served_model
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            finish_reason = choice.finish_reason or finish_reason
            if piece := getattr(choice.delta, "content", None):
                pieces.append(piece)
                on_piece(piece)
    if not _litellm.is_complete(chunks):
        raise IncompleteStream("the connection ended in the middle of the reply")
    cost = _litellm.compute_cost_of_usage(usage, model) if usage else None
    return _make_reply("".join(pieces), finish_reason, usage, cost, served_model)


def _make_reply(text: Any, finish_reason: Any, usage: Any, cost: float | None, model: str) -> Reply:
    if not isinstance(text, str) or not text.strip():
        raise EmptyReply(str(finish_reason), cost)
    details = getattr(usage, "prompt_tokens_details", None)
    return Reply(
        text.strip(),
        _read_count(getattr(usage, "prompt_tokens", None)),
        _read_count(getattr(usage, "completion_tokens", None)),
        _read_count(getattr(details, "cached_tokens", None)) or 0,
        cost,
        str(model),
    )


def _read_count(value: Any) -> int | None:
    """A number of tokens; litellm gives 0 where the server gave none."""
    return int(value) if isinstance(value, int | float) and value > 0 else None
