"""The HTTP header Retry-After: when a server wants to be asked again."""

import time
from email.utils import parsedate_to_datetime


def parse_retry_after(value: str) -> float | None:
    """Parse the seconds until a server wants to be asked again; None for another text.

    Args:
        value: a number of seconds or an HTTP date (RFC 9110, 10.2.3).
    """
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
