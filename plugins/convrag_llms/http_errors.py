"""What the error of a request says in its HTTP headers and status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from convrag.sdk.retry_after import parse_retry_after

_TIMEOUTS = frozenset({"ReadTimeout", "WriteTimeout", "ConnectTimeout", "PoolTimeout"})
"""The timeouts of httpx and httpcore."""


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
    """There was no connection, or it broke off: nothing says that the next one will."""


class UntrustedServer(Exception):
    """The certificate of a server is not trusted."""


def read_status(error: BaseException) -> int | None:
    """The HTTP status of an error, also of one that litellm gives a status; None for other errors.

    It is 408 for a timeout, which litellm calls a connection error (500) once a streamed reply has begun.
    """
    if any(type(cause).__name__ in _TIMEOUTS for cause in list_causes(error)):
        return 408
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def may_pass(error: BaseException) -> bool:
    """Whether an error is a state of the server or the network, so that the same request may succeed later."""
    status = read_status(error)
    return isinstance(error, ConnectionFailed) or (status is not None and (status in (408, 429) or status >= 500))


def list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those from which it was made."""
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
