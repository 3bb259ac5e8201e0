"""What a request raises, and what such an error says: its status, its message, when to ask again."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from convrag.sdk.retry_after import parse_retry_after

_TOO_LONG = re.compile(
    r"context[\s_-]*(length|window|size|limit)|(prompt|input) is too long"
    r"|number of tokens allowed"  # Gemini
    r"|max_new_tokens. must be <=",  # Together
    re.IGNORECASE,
)
_MAX_READ = 20_000  # characters of an error's message that are searched


class HttpError(Exception):
    """A server answered with an error, or with what is no reply.

    Args:
        status_code: its HTTP status, or the one that what it sent amounts to.
        message: what it says, without the words around it.
        headers: of its response, with names in any case.
    """

    def __init__(self, status_code: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status_code = status_code
        self.headers = headers or {}
        super().__init__(message)


class ConnectionFailed(Exception):
    """There was no connection, or it broke off."""


class ConnectionRefused(ConnectionFailed):
    """Nothing listens at the address: the server has ended, or was never started."""


class UntrustedServer(Exception):
    """The certificate of a server is not trusted; the request is not repeated."""


class ReplyTooLong(Exception):
    """A server sent more than a reply may have; the request is not repeated."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the reply is longer than {limit / 2**20:g} MB")


class EmptyReply(Exception):
    """The server sent no text that anybody could see, which may have cost something all the same."""

    def __init__(self, finish_reason: str, cost: float | None) -> None:
        self.finish_reason = finish_reason
        self.cost = cost
        super().__init__(f"the reply is empty (finish_reason: {finish_reason})")


class IncompleteStream(Exception):
    """The connection of a streamed reply ended before the reply did."""

    status_code = 502

    def __init__(self) -> None:
        super().__init__("the connection ended in the middle of the reply")


def read_status(error: BaseException) -> int | None:
    """The HTTP status of an error, also of one that litellm gives a status; None for other errors."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later: after rate limits, timeouts, broken connections, errors of a server.

    A prompt that is too long stays so, whatever status the server gives it.
    """
    if exceeds_context_window(error):
        return False
    status = read_status(error)
    return isinstance(error, ConnectionFailed) or (status is not None and (status in (408, 429) or status >= 500))


def may_have_cost(error: BaseException) -> bool:
    """Whether the model may have written a reply of any length before the error."""
    return read_status(error) == 408 or isinstance(error, ReplyTooLong | IncompleteStream)


def exceeds_context_window(error: BaseException) -> bool:
    """Whether an error says that the request is longer than the model's context window.

    litellm recognises some servers' messages. The others come with any status but 429, whose messages count tokens too.
    """
    if type(error).__name__ == "ContextWindowExceededError":
        return True
    return read_status(error) != 429 and bool(_TOO_LONG.search(str(error)[:_MAX_READ]))


def list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors from which it was made."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__


def read_message(error: BaseException) -> str:
    """The message of an error, without the words that litellm puts before and behind it where a stream failed."""
    original = getattr(error, "original_exception", None)
    return str(error if original is None else original)


def read_retry_after(error: BaseException | None) -> float | None:
    """Seconds until the server wants to be asked again, from the header Retry-After.

    None where the error has no such header, or one that is neither a number nor a date.
    """
    if isinstance(error, HttpError):
        headers: Any = error.headers
    else:
        response = getattr(error, "response", None)
        headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return parse_retry_after(str((headers or {}).get("retry-after") or ""))
