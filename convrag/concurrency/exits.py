"""Exceptions that would end a thread or the process, and are a failure of a plugin's code.

A stage that calls `sys.exit`, or lets the CancelledError of a library through, has failed, as one
that raises a ValueError. Python's `except Exception` does not catch these. Whoever calls a plugin's
code catches BaseException, and raises again what `is_failure` does not call a failure.
"""

import signal
from collections.abc import Iterator
from traceback import walk_tb
from types import CodeType

from convrag.concurrency.cancellation import Cancelled


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the code that raised it.

    KeyboardInterrupt, `Cancelled` and whatever the handler of a signal raises come from outside.
    """
    if isinstance(error, Exception):
        return True
    if isinstance(error, KeyboardInterrupt | Cancelled):
        return False
    return not _is_of_signal(error)


def to_exception(error: BaseException) -> BaseException:
    """Return an error that another thread may raise, which an exit would end.

    What came from outside stays as it is.
    """
    if isinstance(error, Exception) or not is_failure(error):
        return error
    failure = RuntimeError(f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure.with_traceback(error.__traceback__)


def _is_of_signal(error: BaseException) -> bool:
    """Whether the handler of a signal raised an exception."""
    handlers = set(_list_handlers())
    return any(frame.f_code in handlers for frame, _ in walk_tb(error.__traceback__))


def _list_handlers() -> Iterator[CodeType]:
    """Yield the code of the functions that handle signals in this process."""
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        function = getattr(handler, "__func__", handler)  # a method's function
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code
