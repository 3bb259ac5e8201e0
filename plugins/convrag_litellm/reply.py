"""A server's response as a text with its usage; an empty or cut-off one is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import category

from convrag_litellm import _litellm
from convrag_litellm.http_errors import read_status
from convrag_litellm.reply_limit import MAX_REPLY_BYTES, ReplyTooLong

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"})  # Unicode's categories
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol that leave no mark


@dataclass(frozen=True)
class Reply:
    """A text and its usage; the cost is in US dollars.

    Tokens are None where the server does not report them, the cost where no price is known. `finish_reason` is why the
    model ended the text, as OpenAI names it: stop, length (at max_tokens), content_filter.
    """

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int
    cost: float | None
    model: str
    finish_reason: str = ""


class EmptyReply(Exception):
    """The server sent no text that anybody could see, which may have cost something all the same."""

    def __init__(self, finish_reason: str, cost: float | None) -> None:
        self.finish_reason = finish_reason
        self.cost = cost
        super().__init__(f"the reply is empty (finish_reason: {finish_reason})")


class IncompleteStream(Exception):
    """The connection of a streamed reply ended before the reply did."""

    status_code = 502


def may_have_cost(error: Exception) -> bool:
    """Whether the model may have written a reply of any length before the error."""
    return read_status(error) == 408 or isinstance(error, ReplyTooLong | IncompleteStream)


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

    Pieces that show nothing wait for the first one that does, so that an empty reply can be asked for again.

    Raises EmptyReply, IncompleteStream and ReplyTooLong.
    """
    text = _StreamedText(on_piece)
    usage, served_model = None, model
    try:
        for chunk in chunks:
            usage = getattr(chunk, "usage", None) or usage
            served_model = getattr(chunk, "model", None) or served_model
            for choice in getattr(chunk, "choices", None) or []:
                text.add(choice)
    except Exception:
        if not text.is_finished or not _litellm.is_complete(chunks):
            raise  # else only the usage is missing, which comes after the text
    if not _litellm.is_complete(chunks):
        raise IncompleteStream("the connection ended in the middle of the reply")
    cost = _litellm.compute_cost_of_usage(usage, model) if usage else None
    return _make_reply("".join(text.pieces), text.finish_reason or "none", usage, cost, served_model)


class _StreamedText:
    """The text of a streamed reply so far: that of its first choice, up to the finish reason.

    Args:
        on_piece: is given the text, from the first piece on that shows something.
    """

    def __init__(self, on_piece: Callable[[str], None]) -> None:
        self.pieces: list[str] = []
        self.finish_reason = ""
        self._on_piece = on_piece
        self._length = 0
        self._passed_on = 0

    @property
    def is_finished(self) -> bool:
        return bool(self.finish_reason)

    def add(self, choice: Any) -> None:
        """Add what a chunk has of a choice. Raises ReplyTooLong."""
        if self.is_finished or getattr(choice, "index", None):
            return
        self.finish_reason = str(choice.finish_reason or "")
        piece = getattr(choice.delta, "content", None)
        if not isinstance(piece, str) or not piece:
            return
        self.pieces.append(piece)
        self._length += len(piece)
        if self._length > MAX_REPLY_BYTES:
            raise ReplyTooLong(MAX_REPLY_BYTES)
        if self._passed_on or is_visible(piece):
            self._on_piece("".join(self.pieces[self._passed_on :]))
            self._passed_on = len(self.pieces)


def is_visible(text: str) -> bool:
    """Whether a text has a character that leaves a mark, as spaces and zero-width characters do not."""
    return any(category(char) not in _INVISIBLE and char not in _BLANKS for char in text)


def _make_reply(text: Any, finish_reason: Any, usage: Any, cost: float | None, model: str) -> Reply:
    if not isinstance(text, str) or not is_visible(text):
        raise EmptyReply(str(finish_reason), cost)
    details = getattr(usage, "prompt_tokens_details", None)
    return Reply(
        text.strip(),
        _read_count(getattr(usage, "prompt_tokens", None)),
        _read_count(getattr(usage, "completion_tokens", None)),
        _read_count(getattr(details, "cached_tokens", None)) or 0,
        cost,
        str(model),
        str(finish_reason or ""),
    )


def _read_count(value: Any) -> int | None:
    """A number of tokens; litellm gives 0 where the server gave none."""
    return int(value) if isinstance(value, int | float) and value > 0 else None
