"""How log records look on the terminal."""

from __future__ import annotations

import logging


class TerminalFormatter(logging.Formatter):
    """One line for a record; a traceback only for what should never have happened (the log file has them all)."""

    def format(self, record: logging.LogRecord) -> str:
        """The message, marked as ours."""
        line = f"convrag: {record.getMessage()}"
        if record.levelno >= logging.CRITICAL and record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line
