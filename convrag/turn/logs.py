"""How log records look on the terminal, and how often."""

from __future__ import annotations

import logging

from convrag.api.errors import ConvragError

log = logging.getLogger(__name__)


class TerminalFormatter(logging.Formatter):
    """One line for a record; a traceback only for what should never have happened (the log file has them all)."""

    def format(self, record: logging.LogRecord) -> str:
        """The message, marked as ours."""
        line = f"convrag: {record.getMessage()}"
        if record.levelno >= logging.CRITICAL and record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


class WarnOnce:
    """Warns of each reason once, so that the terminal is not flooded; the log file has every time."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def warn(self, reason: str, message: str, *arguments: object, error: Exception) -> None:
        """Log a failure, with the traceback of an error that is none of ours."""
        level = logging.INFO if reason in self._seen else logging.WARNING
        self._seen.add(reason)
        log.log(level, message, *arguments, exc_info=None if isinstance(error, ConvragError) else error)
