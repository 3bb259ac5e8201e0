"""The format of log records on the terminal, and warnings that are not repeated."""

import logging
import sys

from convrag.api.errors import ConvragError
from convrag.api.printable import make_printable
from convrag.api.secrets import redact

log = logging.getLogger(__name__)

MAX_REASONS = 1000
"""The number of reasons that are remembered, since each may name the turn that failed."""


class TerminalFormatter(logging.Formatter):
    """Formats a log record as one line, with a traceback for critical records only.

    The log file has all tracebacks.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format the message, after the prefix "convrag: "."""
        line = f"convrag: {record.getMessage()}"
        if record.levelno >= logging.CRITICAL and record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return make_printable(redact(line))


class FileFormatter(logging.Formatter):
    """Formats a log record for convrag.log, with its traceback, safely for terminals."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format time, level, logger, message and traceback, without keys and passwords."""
        return make_printable(redact(super().format(record)))


class LogFile(logging.FileHandler):
    """The file convrag.log.

    A line that does not fit on the disk is left out: the run itself reports a full disk.
    """

    def handleError(self, record: logging.LogRecord) -> None:
        """Show a malformed call of the logger with its traceback, as logging does."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


class FailureLog:
    """Logs the first failure with a reason as a warning, and repetitions as INFO, for the log file.

    After `MAX_REASONS` reasons it forgets all of them, so that each is a warning again.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def log_failure(
        self, reason: str, message: str, *arguments: object, error: BaseException
    ) -> None:
        """Log a failure, with its traceback unless the error is a ConvragError."""
        level = logging.INFO if reason in self._seen else logging.WARNING
        if len(self._seen) >= MAX_REASONS:
            self._seen.clear()
        self._seen.add(reason)
        explains_itself = isinstance(error, ConvragError)
        log.log(level, message, *arguments, exc_info=None if explains_itself else error)
