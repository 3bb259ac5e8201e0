"""Loggers of HTTP libraries, which log addresses and headers: warnings alone, without secrets."""

import logging

from convrag.sdk.secrets import redact


class RedactingFilter(logging.Filter):
    """Redacts a library's log lines, and drops those that were logged before."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record in place; False for a line that was logged before."""
        record.msg = redact(record.getMessage())
        record.args = ()
        # A traceback repeats the message, unredacted.
        record.exc_info = None
        record.exc_text = None
        is_new = record.msg not in self._logged
        self._logged.add(record.msg)
        return is_new


def quieten(*names: str) -> None:
    """Let the loggers with these names pass on warnings alone, redacted."""
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)
        logging.getLogger(name).addFilter(RedactingFilter())
