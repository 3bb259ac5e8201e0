"""Errors of a request: its HTTP status, when to ask again, and whether that may help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from convrag.sdk.retry_after import parse_retry_after

if TYPE_CHECKING:
    from convrag_llms.reply import Reply

MAX_REPLY_BYTES = 10 * 2**20
"""The longest reply in one piece, after decompression; 128,000 tokens are about half a MB."""

_CONTEXT_EXCEEDED = re.compile(
    r"context[\s_-]*(length|window|size|limit)|(prompt|input)( \(\d+ tokens\))? is too (long|large)"
    r"|number of tokens allowed"  # Gemini
    r"|max_new_tokens. must be <=",  # Together
    re.IGNORECASE,
)
_MAX_READ = 20_000  # characters of an error's message that are searched


class HttpError(Exception):
    """A server answered with an error, or with something that is not a reply.

    Args:
        status_code: its HTTP status, or the one that fits what it sent.
        message: the server's message, without the words around it.
        headers: of its response, with names in any case.
        param: the parameter that the server names as the cause; empty where it names none.
    """

    def __init__(
        self,
        status_code: int,
        message: str,
        headers: Mapping[str, str] | None = None,
        param: str = "",
    ) -> None:
        self.status_code = status_code
        self.headers = headers or {}
        self.param = param
        super().__init__(message)


class ConnectionFailed(Exception):
    """The server could not be connected to, or the connection broke off."""


class ConnectionRefused(ConnectionFailed):
    """No process listens at the address: the server has ended, or was never started."""


class UntrustedServer(Exception):
    """The certificate of a server is not trusted; the request is not repeated."""


class AskedConvrag(Exception):
    """A `task=serve` of convrag answered, whose answers are no language model's; not repeated."""


class ReplyTooLong(Exception):
    """A server sent more than a reply may have; the request is not repeated."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the reply is longer than {limit / 2**20:g} MB")


class EmptyReply(Exception):
    """The server sent no text that anybody could see, which may have cost something.

    Args:
        finish_reason: as the server says it.
        cost: US dollars; None where no price is known.
        thought_tokens: the tokens of a reply that is thoughts alone; 0 for any other.
        tokens: of the reply, as far as they are known.
        thoughts: the reply of thoughts alone, for prompts that read them
            (`Prompt.reads_thoughts`); None for any other.
    """

    def __init__(
        self,
        finish_reason: str,
        cost: float | None,
        thought_tokens: int = 0,
        tokens: int = 0,
        thoughts: Reply | None = None,
    ) -> None:
        self.finish_reason = finish_reason
        self.cost = cost
        self.thought_tokens = thought_tokens
        self.tokens = tokens
        self.thoughts = thoughts
        if thought_tokens:
            message = f"it thought for {thought_tokens:,} tokens and wrote nothing"
        else:
            message = f"the reply is empty (finish_reason: {finish_reason})"
        super().__init__(message)

    @property
    def may_improve(self) -> bool:
        """Whether the same request may get a text when it is sent again."""
        return not self.thought_tokens and self.finish_reason not in _FINAL_REASONS


_FINAL_REASONS = frozenset({"length", "tool_calls", "function_call"})
"""The finish reasons of empty replies that another try would repeat."""


class UnusableReply(Exception):
    """A reply that does not have what was asked for; the same request would get the same.

    Args:
        problem: what is wrong with it ("it sent 3 vectors for 4 texts").
        advice: what to do; empty where the server may be another one than it should.
    """

    def __init__(self, problem: str, advice: str = "") -> None:
        self.advice = advice
        super().__init__(problem)


class IncompleteStream(Exception):
    """The connection of a streamed reply ended before the reply did."""

    status_code = 502

    def __init__(self) -> None:
        super().__init__("the connection ended in the middle of the reply")


_PAID = (ReplyTooLong, IncompleteStream, UnusableReply)
"""Errors of replies that the model has written."""


def read_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error, ours or litellm's; None for one without a status."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later.

    It may after rate limits, timeouts, broken connections and errors of a server. A prompt that is
    too long stays too long, whatever status the server gives it.
    """
    if exceeds_context_window(error):
        return False
    if isinstance(error, ConnectionFailed):
        return True
    status = read_status(error)
    return status is not None and (status in (408, 429) or status >= 500)


def may_have_cost(error: BaseException) -> bool:
    """Whether the model may have written a reply of any length before the error."""
    return read_status(error) == 408 or isinstance(error, _PAID)


def exceeds_context_window(error: BaseException) -> bool:
    """Whether an error says that the request is longer than the model's context window.

    litellm recognises the messages of some servers. The messages of others are searched, except
    with status 429: a rate limit counts tokens too.
    """
    if type(error).__name__ == "ContextWindowExceededError":
        return True
    return read_status(error) != 429 and bool(_CONTEXT_EXCEEDED.search(str(error)[:_MAX_READ]))


def list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors that caused it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def read_message(error: BaseException) -> str:
    """Return the message of an error, without litellm's words around that of a failed stream."""
    original = getattr(error, "original_exception", None)
    return str(error if original is None else original)


def read_retry_after(error: BaseException | None) -> float | None:
    """Return the seconds until the server wants to be asked again, from the header Retry-After.

    None where the error has no such header, or one that is neither a number nor a date.
    """
    headers = _find_headers(error) or {}
    return parse_retry_after(str(headers.get("retry-after") or ""))


def _find_headers(error: BaseException | None) -> Any:
    """Find the headers of the response that an error was made from; None without a response."""
    if isinstance(error, HttpError):
        return error.headers
    headers = getattr(error, "litellm_response_headers", None)
    if headers:
        return headers
    return getattr(getattr(error, "response", None), "headers", None)
