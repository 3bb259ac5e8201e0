import time
from email.utils import formatdate

import pytest

from convrag.sdk.retry_after import parse_retry_after


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("", None), ("soon", None)]
)
def test_seconds(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value) == seconds


def test_a_date() -> None:
    found = parse_retry_after(formatdate(time.time() + 60, usegmt=True))
    assert found is not None
    assert 55 < found <= 61
    assert parse_retry_after("Mon, 01 Jan 2001 00:00:00 GMT") == 0.0
