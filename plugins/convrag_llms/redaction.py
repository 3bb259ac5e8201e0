"""Redacts keys and passwords in the log lines of libraries, and finds the secrets among parameters."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from convrag.sdk.secrets import is_secret_name, redact


def find_secret_values(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The values of those parameters, at any depth, that are named like a secret; of "Bearer KEY" the key too."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from find_secret_values(value)
        elif is_secret_name(str(name), loose=True):
            yield from (str(value), str(value).rpartition(" ")[2])


class RedactingFilter(logging.Filter):
    """Redacts a library's log lines, and drops those that were logged before."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record in place; False for a line that was logged before."""
        record.msg, record.args = redact(record.getMessage()), ()
        record.exc_info = record.exc_text = None  # a traceback repeats the message, unredacted
        new = record.msg not in self._logged
        self._logged.add(record.msg)
        return new
