"""The format of log records on the terminal, and warnings that are not repeated."""

from __future__ import annotations

import logging

from convrag.api.errors import ConvragError

log = logging.getLogger(__name__)


class TerminalFormatter(logging.Formatter):
    """Formats a log record as one line, with a traceback for critical records only; the log file has all tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the message, after the prefix "convrag: "."""
        line = f"convrag: {record.getMessage()}"
        if record.levelno >= logging.CRITICAL and record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


class FailureLog:
    """Logs failures: a warning for the first one with a reason, and INFO records, for the log file, for repetitions."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def log_failure(self, reason: str, message: str, *arguments: object, error: Exception) -> None:
        """Log a failure; the traceback is added unless the error is a ConvragError, which explains itself."""
        level = logging.INFO if reason in self._seen else logging.WARNING
        self._seen.add(reason)
        log.log(level, message, *arguments, exc_info=None if isinstance(error, ConvragError) else error)
