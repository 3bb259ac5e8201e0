"""Log records on the terminal while an answer is drawn there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from convrag.sdk.tasks.turns import logs


class _Lines:
    """A stream for a log handler.

    Args:
        show: is called with each line, in the thread that logs.
    """

    def __init__(self, show: Callable[[str], object]) -> None:
        self._show = show

    def write(self, text: str) -> None:
        self._show(text.rstrip("\n"))

    def flush(self) -> None:
        """Nothing: lines are shown at once."""


@contextmanager
def show_log_lines(show: Callable[[str], object]) -> Iterator[None]:
    """Pass what the log prints on the terminal during the block to a function, which prints it where there is room.

    Failures of stages are left out: the record of the turn has them.
    """
    handlers = [handler for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    streams = [handler.setStream(_Lines(show)) for handler in handlers]
    for handler in handlers:
        handler.addFilter(_is_no_failure)
    try:
        yield
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.removeFilter(_is_no_failure)
            handler.setStream(stream)


def _is_no_failure(record: logging.LogRecord) -> bool:
    return record.name != logs.__name__
