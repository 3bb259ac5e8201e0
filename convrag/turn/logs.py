"""The format of log records on the terminal, and warnings that are not repeated."""

import logging
import sys
from collections import OrderedDict

from convrag.api.errors import ConvragError
from convrag.api.printable import make_printable
from convrag.api.secrets import redact
from convrag.store.forks import ForkAware

log = logging.getLogger(__name__)

MAX_REASONS = 1000
"""How many reasons of failures are remembered, since a reason may name the turn or the text that failed."""


class TerminalFormatter(logging.Formatter):
    """Formats a log record as one line, with a traceback for critical records only; the log file has all tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the message, after the prefix "convrag: "."""
        line = f"convrag: {record.getMessage()}"
        if record.levelno >= logging.CRITICAL and record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return make_printable(redact(line))


class FileFormatter(logging.Formatter):
    """Formats a log record for convrag.log, with its traceback; `cat convrag.log` is safe whatever it quotes."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format time, level, logger, message and traceback, without keys and passwords."""
        return make_printable(redact(super().format(record)))


class LogFile(logging.FileHandler):
    """convrag.log. A line that does not fit on the disk is left out; the run says by itself that the disk is full."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Show a malformed call of the logger with its traceback, as logging does."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


class FailureLog(ForkAware):
    """Logs failures: a warning for the first one with a reason, and INFO records, for the log file, for repetitions.

    It knows the last `MAX_REASONS` reasons; an older one is a warning again.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, None] = OrderedDict()
        super().__init__()

    def log_failure(self, reason: str, message: str, *arguments: object, error: Exception) -> None:
        """Log a failure; the traceback is added unless the error is a ConvragError, which explains itself."""
        level = logging.INFO if self._note(reason) else logging.WARNING
        log.log(level, message, *arguments, exc_info=None if isinstance(error, ConvragError) else error)

    def _note(self, reason: str) -> bool:
        """Whether a reason is known; from now on it is."""
        with self._guard:
            known = reason in self._seen
            self._seen[reason] = None
            self._seen.move_to_end(reason)
            if len(self._seen) > MAX_REASONS:
                self._seen.popitem(last=False)
            return known
