"""What the error of a request says in its HTTP headers and status."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any


def read_status(error: BaseException) -> int | None:
    """The HTTP status of an error, also of one that litellm gives a status; None for other errors."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def read_retry_after(error: BaseException | None) -> float | None:
    """Seconds until the server wants to be asked again, from the header Retry-After.

    Its value is a number of seconds or an HTTP date (RFC 9110, 10.2.3). None where the error has no such header, or one
    that is neither.
    """
    response = getattr(error, "response", None)
    headers: Any = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    value = str((headers or {}).get("retry-after") or "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
