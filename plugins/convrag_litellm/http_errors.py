"""What the error of a request says in its HTTP headers and status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from convrag.sdk.retry_after import parse_retry_after

_TIMEOUTS = frozenset({"ReadTimeout", "WriteTimeout", "ConnectTimeout", "PoolTimeout"})
"""The timeouts of httpx and httpcore."""


def read_status(error: BaseException) -> int | None:
    """The HTTP status of an error, also of one that litellm gives a status; None for other errors.

    It is 408 for a timeout, which litellm calls a connection error (500) once a streamed reply has begun.
    """
    if any(type(cause).__name__ in _TIMEOUTS for cause in list_causes(error)):
        return 408
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


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
    response = getattr(error, "response", None)
    headers: Any = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return parse_retry_after(str((headers or {}).get("retry-after") or ""))
