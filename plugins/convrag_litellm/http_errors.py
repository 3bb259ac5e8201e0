"""What the error of a request says in its HTTP headers and status."""

from __future__ import annotations

from typing import Any

from convrag.sdk.retry_after import parse_retry_after


def read_status(error: BaseException) -> int | None:
    """The HTTP status of an error, also of one that litellm gives a status; None for other errors."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def read_retry_after(error: BaseException | None) -> float | None:
    """Seconds until the server wants to be asked again, from the header Retry-After.

    None where the error has no such header, or one that is neither a number nor a date.
    """
    response = getattr(error, "response", None)
    headers: Any = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return parse_retry_after(str((headers or {}).get("retry-after") or ""))
